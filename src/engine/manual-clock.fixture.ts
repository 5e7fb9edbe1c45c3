import type { Clock, Timer } from "../ports/clock.ts";

/**
 * A clock that advances only when a test moves it. Timers fire in chronological order; deferred calls run on `turn`.
 */
export class ManualClock implements Clock {
  time = 1_800_000_000_000;
  /** The offset by which the test set the wall clock forward or back. */
  wallOffsetMs = 0;
  #timers: { at: number; callback: () => void }[] = [];
  readonly #deferred: (() => void)[] = [];

  now(): number {
    return this.time + this.wallOffsetMs;
  }

  monotonicMs(): number {
    return this.time;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    const entry = { at: this.time + delayMs, callback };
    this.#timers.push(entry);
    return { cancel: () => void (this.#timers = this.#timers.filter((timer) => timer !== entry)) };
  }

  defer(callback: () => void): void {
    this.#deferred.push(callback);
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** One turn of the event loop: deferred calls that are already queued, then all promise callbacks. */
  async turn(): Promise<void> {
    for (const callback of this.#deferred.splice(0)) callback();
    await new Promise((resolve) => setImmediate(resolve));
  }

  advance(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.time = Math.max(this.time, next.at);
      this.#timers = this.#timers.filter((timer) => timer !== next);
      next.callback();
    }
    this.time = end;
  }
}
