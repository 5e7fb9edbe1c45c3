/**
 * Time as the engine sees it. Stored times come from the wall clock, durations from the monotonic one, because the
 * wall clock may jump (design, section 6).
 */
export interface Clock {
  /** Unix milliseconds. May step backwards or forwards. */
  now(): number;
  /** Milliseconds since some fixed point; never steps back. */
  monotonicMs(): number;
  /** Calls back once after about `delayMs` (bounded by 2^31 - 1); never synchronously. */
  schedule(delayMs: number, callback: () => void): Timer;
  /** Calls back after the current turn of the event loop, when the I/O that is ready has been handled. */
  defer(callback: () => void): void;
}

/** A call back that has not happened yet. */
export interface Timer {
  /** Safe to call twice and after it fired. */
  cancel(): void;
}
