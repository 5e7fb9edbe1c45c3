import type { Clock, Timer } from "../clock.ts";

/** A timer with one callback: setting it again replaces the previous one. */
export class Alarm {
  readonly #clock: Pick<Clock, "schedule">;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(clock: Pick<Clock, "schedule">) {
    this.#clock = clock;
  }

  /** True from `set` until the callback begins; the callback may set it again. */
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

  /** Cancels it permanently: later calls of `set` do nothing. */
  close(): void {
    this.#isClosed = true;
    this.cancel();
  }
}
