import type { Dispatcher } from "undici";

/** The least that undici accepts as a handler: waits for the end and keeps nothing. */
export class DrainHandler implements Dispatcher.DispatchHandler {
  readonly #done: () => void;
  readonly #failed: (error: Error) => void;

  constructor(done: () => void, failed: (error: Error) => void) {
    this.#done = done;
    this.#failed = failed;
  }

  onRequestStart(): void {}
  onResponseStart(): void {}
  onResponseData(): void {}
  onResponseEnd(): void {
    this.#done();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#failed(error);
  }
}
