import type { Random } from "../../../ports/random.ts";

/** A connection that a proxy cut, or a node that restarts, is back soon. */
const delayMsFirst = 500;
/** WDS-210. */
const delayMsMax = 300_000;
/** What lives shorter than this was no success: a connection that dies at once must not be made again at once, for ever. */
const steadyMs = 10_000;

/** Pauses between attempts: each twice as long as the one before, up to five minutes, and of that a random half to all. */
export class Backoff {
  readonly #random: Pick<Random, "uniform">;
  #step = 0;
  #failures = 0;

  constructor(random: Pick<Random, "uniform">) {
    this.#random = random;
  }

  /** Attempts in a row that brought nothing that lasted. */
  get failures(): number {
    return this.#failures;
  }

  /** How long to wait after an attempt that failed. */
  failed(): number {
    this.#failures += 1;
    return this.#nextMs();
  }

  /** How long to wait after the end of something that worked for `livedMs`. */
  ended(livedMs: number): number {
    if (livedMs < steadyMs) return this.failed();
    this.#failures = 0;
    this.#step = 0;
    return this.#nextMs();
  }

  #nextMs(): number {
    const ceilingMs = Math.min(delayMsMax, delayMsFirst * 2 ** this.#step);
    if (ceilingMs < delayMsMax) this.#step += 1;
    return ceilingMs * (0.5 + this.#random.uniform() / 2);
  }
}
