/**
 * Time for the engine. Stored times come from the wall clock and durations from the monotonic clock, because the wall
 * clock may jump.
 */
export interface Clock {
  /** Unix milliseconds. May step backwards or forwards. */
  now(): number;
  /** Milliseconds since some fixed point; never steps back. */
  monotonicMs(): number;
  /** Calls back once after about `delayMs` (bounded by 2^31 - 1); never synchronously. */
  schedule(delayMs: number, callback: () => void): Timer;
  /** Runs the callback after the current turn of the event loop, once pending I/O has been handled. */
  defer(callback: () => void): void;
}

/** A scheduled callback that has not run yet. */
export interface Timer {
  /** Safe to call twice, and after the timer has fired. */
  cancel(): void;
}
