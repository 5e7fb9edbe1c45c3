import { Backoff } from "../../../core/backoff.ts";
import type { Random } from "../../../ports/random.ts";

/** A connection cut by a proxy, or a restarting node, is back soon. WDS-210 sets the longest pause. */
const bounds = { delayMsMin: 500, delayMsMax: 300_000 };
/**
 * A connection that lives shorter than this counts as a failure; otherwise one that dies at once would be reopened at
 * once, forever.
 */
const steadyMs = 10_000;

/** Pauses between attempts to open something that should last. Only what lived for a while counts as a success. */
export class SteadyBackoff {
  readonly #random: Pick<Random, "uniform">;
  readonly #backoff = new Backoff(bounds);
  #failures = 0;

  constructor(random: Pick<Random, "uniform">) {
    this.#random = random;
  }

  /** Consecutive attempts without a lasting success. */
  get failures(): number {
    return this.#failures;
  }

  /** Returns the pause after a failed attempt. */
  failed(): number {
    this.#failures += 1;
    return this.#nextMs();
  }

  /** Returns the pause after the end of something that worked for `livedMs`. */
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
