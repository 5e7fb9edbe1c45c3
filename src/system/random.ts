import { randomFillSync } from "node:crypto";
import type { Random } from "../ports/random.ts";

/**
 * Bytes fetched by one system call. An id takes 10 bytes, and a system call for each id would be a third of its cost.
 */
const poolBytes = 8_192;

/**
 * The real source of randomness. Bytes are taken from a pool of secure random bytes. Used bytes are wiped from the
 * pool, so that they appear neither for a second caller nor in a heap dump.
 */
export function createSystemRandom(): Random {
  const pool = new Uint8Array(poolBytes);
  let used = poolBytes;
  return {
    uniform: () => Math.random(),
    bytes(count) {
      if (count > poolBytes) return randomFillSync(new Uint8Array(count));
      if (used + count > poolBytes) {
        randomFillSync(pool);
        used = 0;
      }
      const handedOut = pool.slice(used, used + count);
      pool.fill(0, used, used + count);
      used += count;
      return handedOut;
    },
  };
}
