import type { Clock, Timer } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Logger } from "../ports/telemetry.ts";
import { Loop } from "../ports/timing/loop.ts";

export interface StoreClockOptions {
  readonly clock: Clock;
  /** The store's clock; absent where it is that of this machine. */
  readonly time: Store["time"];
  readonly log: Logger;
}

/**
 * The time by which all processes of a deployment judge what is due: that of this machine, and where it differs by more than
 * a second from that of the database, the database's. A worker whose clock is behind would hold events back that another
 * process stored as due now, and one whose clock is ahead would send retries too early.
 *
 * Durations and timers stay those of this machine.
 */
export class StoreClock implements Clock {
  readonly #options: StoreClockOptions;
  /** Of the database's clock before this machine's, as it was last seen. */
  offsetMs = 0;
  #correctionMs = 0;
  readonly #loop: Loop;

  constructor(options: StoreClockOptions) {
    this.#options = options;
    this.#loop = new Loop({
      clock: options.clock,
      round: () => this.#compare(),
      pauseMs: () => compareMs,
      // It is away; what was seen last stays true for a while.
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

  /** Resolves after the first comparison; others follow from time to time. */
  async start(): Promise<void> {
    if (this.#options.time === undefined) return;
    await this.#loop.run();
    this.#loop.start();
  }

  /** An answer that is still under way changes nothing any more, so nobody waits for it. */
  stop(): void {
    void this.#loop.stop();
  }

  async #compare(): Promise<void> {
    const { clock, time } = this.#options;
    if (time === undefined) return;
    const before = { wall: clock.now(), monotonicMs: clock.monotonicMs() };
    const stored = await time();
    const tookMs = clock.monotonicMs() - before.monotonicMs;
    // Where in this time the database looked at its clock nobody knows.
    if (tookMs <= answerMsMax) this.#seen(Math.round(stored - before.wall - tookMs / 2));
  }

  #seen(offsetMs: number): void {
    this.offsetMs = offsetMs;
    const correctionMs = Math.abs(offsetMs) > toleranceMs ? offsetMs : 0;
    if (Math.abs(correctionMs - this.#correctionMs) <= toleranceMs / 2) return;
    this.#correctionMs = correctionMs;
    const { log } = this.#options;
    if (correctionMs === 0)
      log.info({ offsetMs }, "the clock of this machine agrees with the database's again");
    else
      log.warn(
        { offsetMs },
        "the clock of this machine differs from the database's, which is used from now on: set both by NTP",
      );
  }
}

/** As often as workers tell that they live. */
const compareMs = 3_000;
/** Machines that are kept by NTP differ by some milliseconds, and an answer may be late. */
const toleranceMs = 1_000;
const answerMsMax = 500;
