import type { Clock, Timer } from "../clock.ts";

/** One call back at a time: setting it again replaces what was set. */
export class Alarm {
  readonly #clock: Pick<Clock, "schedule">;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(clock: Pick<Clock, "schedule">) {
    this.#clock = clock;
  }

  /** From `set` until the call back begins, which may set it again. */
  get isSet(): boolean {
    return this.#timer !== null;
  }

  set(delayMs: number, callback: () => void): void {
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.schedule(delayMs, () => {
      this.#timer = null;
      callback();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Cancels it for good: setting it later does nothing. */
  close(): void {
    this.#isClosed = true;
    this.cancel();
  }
}
