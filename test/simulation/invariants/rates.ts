import type { RateLimitConfig } from "../../../src/domain/profile.ts";
import type { Watched } from "./watched.ts";

interface Tokens {
  left: number;
  at: number;
  readonly config: RateLimitConfig;
}

/**
 * A simple implementation of token buckets (I-10). They are full at the start of every process, and again after the
 * limit or the wall clock has changed. Both are documented exceptions for a limit in memory.
 */
export class Rates {
  readonly #watched: Watched;
  readonly #buckets = new Map<string, Tokens>();

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  reset(): void {
    this.#buckets.clear();
  }

  take(name: string, config: RateLimitConfig | null): void {
    if (config === null) {
      this.#buckets.delete(name);
      return;
    }
    const now = this.#watched.time.monotonicMs();
    let bucket = this.#buckets.get(name);
    if (bucket === undefined || !isSame(bucket.config, config)) {
      bucket = { left: config.burst, at: now, config };
      this.#buckets.set(name, bucket);
    }
    bucket.left = Math.min(
      config.burst,
      bucket.left + ((now - bucket.at) * config.requestsPerMinute) / 60_000,
    );
    bucket.at = now;
    // Allows for rounding errors in the sum of fractions.
    if (bucket.left < 1 - 1e-6)
      this.#watched.fail("I-10", `${name} sent faster than ${JSON.stringify(config)}`);
    bucket.left -= 1;
  }
}

function isSame(a: RateLimitConfig, b: RateLimitConfig): boolean {
  return a.requestsPerMinute === b.requestsPerMinute && a.burst === b.burst;
}
