import type { Clock } from "../clock.ts";

/**
 * Keeps one request from blocking the event loop: after some milliseconds of work it yields to the loop, and after
 * each transaction's worth of rows it waits for the store. So requests share the store in turns, and a batch of a
 * million deliveries has some thousand of them in memory.
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

  /** Call after work that wrote nothing. */
  async worked(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#turnAt < turnMs) return;
    await new Promise<void>((resolve) => this.#clock.defer(resolve));
    this.#turnAt = this.#clock.monotonicMs();
  }

  /** Call after work that was submitted to the store. */
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

/** How long one request may work before it yields. */
const turnMs = 8;
/** Rows that one request may have pending in the store. */
const requestRowsMax = 2_048;
