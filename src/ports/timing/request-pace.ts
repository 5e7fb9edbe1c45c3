import type { Clock } from "../clock.ts";

/**
 * Keeps one request from holding the event loop: after some milliseconds of work it gives the loop a turn, and it waits
 * for the store whenever it handed over a transaction's worth of rows. So requests share the store turn by turn, and a
 * batch of a million deliveries has some thousand of them in memory.
 */
export class RequestPace {
  readonly #clock: Clock;
  #turnAt: number;
  #rows = 0;
  #submitted: Promise<unknown>[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turnAt = clock.monotonicMs();
  }

  /** After a piece of work that wrote nothing. */
  async worked(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#turnAt < turnMs) return;
    await new Promise<void>((resolve) => this.#clock.defer(resolve));
    this.#turnAt = this.#clock.monotonicMs();
  }

  /** After a piece of work that is on its way to the store. */
  async submitted(written: Promise<unknown>, rows: number): Promise<void> {
    this.#submitted.push(written);
    this.#rows += rows;
    if (this.#rows < requestRowsMax) return this.worked();
    await Promise.all(this.#submitted);
    this.#submitted = [];
    this.#rows = 0;
    this.#turnAt = this.#clock.monotonicMs();
  }
}

/** How long one request may work without a turn for others. */
const turnMs = 8;
/** Rows that one request may have on their way to the store. */
const requestRowsMax = 2_048;
