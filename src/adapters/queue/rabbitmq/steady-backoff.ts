import { Backoff } from "../../../core/backoff.ts";
import type { Random } from "../../../ports/random.ts";

/** A connection that a proxy cut, or a node that restarts, is back soon. The longest pause is that of WDS-210. */
const bounds = { delayMsMin: 500, delayMsMax: 300_000 };
/** What lives shorter than this was no success: a connection that dies at once must not be made again at once, for ever. */
const steadyMs = 10_000;

/** Pauses between attempts at something that should last: only what lived for a while counts as a success. */
export class SteadyBackoff {
  readonly #random: Pick<Random, "uniform">;
  readonly #backoff = new Backoff(bounds);
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
    this.#backoff.reset();
    return this.#nextMs();
  }

  #nextMs(): number {
    return this.#backoff.nextMs(this.#random.uniform());
  }
}
