import { createBucket } from "../../../core/rate-limit.ts";
import type { SharedLimits, TokenDraw, TokenGrant } from "../../../ports/shared-state.ts";
import type { Calls } from "./calls.ts";
import type { Keys } from "./keys.ts";

/** Ticks of the scripts per millisecond; the core's intervals are whole numbers of ticks. */
const ticksPerMs = 1_024;

/**
 * Buckets of tenants, one key each. The arithmetic is that of core/rate-limit.ts. The server does it in one script;
 * between a separate read and write, another worker could draw the same tokens.
 */
export class RedisLimits implements SharedLimits {
  readonly #calls: Calls;
  readonly #keys: Keys;

  constructor(calls: Calls, keys: Keys) {
    this.#calls = calls;
    this.#keys = keys;
  }

  async draw(draws: readonly TokenDraw[]): Promise<readonly TokenGrant[]> {
    return this.#calls.each(this.#entries(draws), async (client, { key, values }) => {
      const [granted = 0, waitMs = 0] = await client.draw(key, values);
      return { granted, waitMs };
    });
  }

  async giveBack(draws: readonly TokenDraw[]): Promise<void> {
    await this.#calls.each(this.#entries(draws), (client, { key, values }) => client.giveBack(key, values));
  }

  /** Throws RangeError before anything is sent if a value is not a limit, as the core does. */
  #entries(draws: readonly TokenDraw[]): readonly Entry[] {
    return draws.map(({ key, limit, tokens }) => {
      const { intervalMs, toleranceMs } = createBucket(limit);
      if (!Number.isSafeInteger(tokens) || tokens < 0) {
        throw new RangeError(`not a number of tokens: ${tokens}`);
      }
      const values = [intervalMs * ticksPerMs, toleranceMs * ticksPerMs, tokens];
      return { key: this.#keys.limit(key), values };
    });
  }
}

interface Entry {
  readonly key: string;
  /** Interval and tolerance in ticks, and the number of tokens. */
  readonly values: readonly number[];
}
