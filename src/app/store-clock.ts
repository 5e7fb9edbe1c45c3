import { type Clock, Loop, type Timer } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Logger } from "../ports/telemetry.ts";

export interface StoreClockOptions {
  readonly clock: Clock;
  /** The store's clock; absent if it is the clock of this machine. */
  readonly time: Store["time"];
  readonly log: Logger;
}

/**
 * The clock by which all processes of a deployment decide what is due: the clock of this machine, or that of the
 * database if they differ by more than a second. A worker whose clock is behind would delay events that another
 * process stored as due now, and one whose clock is ahead would send retries too early.
 *
 * Durations and timers use the clock of this machine.
 */
export class StoreClock implements Clock {
  readonly #options: StoreClockOptions;
  /** How far the database's clock was ahead of this machine's clock at the last comparison. */
  offsetMs = 0;
  #correctionMs = 0;
  readonly #loop: Loop;

  constructor(options: StoreClockOptions) {
    this.#options = options;
    this.#loop = new Loop({
      clock: options.clock,
      round: () => this.#compare(),
      pauseMs: () => compareMs,
      // The database is unavailable; the last offset stays valid for a while.
      failed: () => undefined,
    });
  }

  now(): number {
    return this.#options.clock.now() + this.#correctionMs;
  }

  monotonicMs(): number {
    return this.#options.clock.monotonicMs();
  }

  schedule(delayMs: number, callback: () => void): Timer {
    return this.#options.clock.schedule(delayMs, callback);
  }

  defer(callback: () => void): void {
    this.#options.clock.defer(callback);
  }

  /** Resolves after the first comparison; more comparisons follow periodically. */
  async start(): Promise<void> {
    if (this.#options.time === undefined) return;
    await this.#loop.run();
    this.#loop.start();
  }

  /** Does not wait for a comparison in progress, because its result no longer matters. */
  stop(): void {
    void this.#loop.stop();
  }

  async #compare(): Promise<void> {
    const { clock, time } = this.#options;
    if (time === undefined) return;
    const before = { wall: clock.now(), monotonicMs: clock.monotonicMs() };
    const stored = await time();
    const tookMs = clock.monotonicMs() - before.monotonicMs;
    // The database read its clock at some point within this interval, so assume the middle.
    if (tookMs <= answerMsMax) this.#seen(Math.round(stored - before.wall - tookMs / 2));
  }

  #seen(offsetMs: number): void {
    this.offsetMs = offsetMs;
    const correctionMs = Math.abs(offsetMs) > toleranceMs ? offsetMs : 0;
    if (Math.abs(correctionMs - this.#correctionMs) <= toleranceMs / 2) return;
    this.#correctionMs = correctionMs;
    const { log } = this.#options;
    if (correctionMs === 0)
      log.info({ offsetMs }, "the clock of this machine agrees with the database clock again");
    else
      log.warn(
        { offsetMs },
        "the clock of this machine differs from the database clock, which is used from now on: synchronize both with NTP",
      );
  }
}

/** As frequent as the heartbeats of workers. */
const compareMs = 3_000;
/** The clocks of machines with NTP differ by a few milliseconds, and a reply may be late. */
const toleranceMs = 1_000;
const answerMsMax = 500;
