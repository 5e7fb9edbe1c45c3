/**
 * UUID version 7 (RFC 9562): 48 bits of Unix milliseconds, a 12-bit counter, 62 random bits.
 *
 * Ids of one source strictly increase, even if the clock stops or steps back: the counter continues, and when it is
 * exhausted the time part moves one millisecond ahead of the clock. The text contains no period, so an id can be a
 * `Webhook-ID` (TS16-32, TS16-62), and it has enough randomness to be an idempotency key (EDS-9.4-4).
 */
import { Buffer } from "node:buffer";

export interface UuidSource {
  /** The next id, in lower case. */
  next(): string;
}

const poolBytes = 4096;
const randomHexPerId = 16;
const counterMax = 0xfff;
const timeMsMax = 2 ** 48 - 1;

const counterHex = Array.from({ length: counterMax + 1 }, (_, value) => value.toString(16).padStart(3, "0"));

/** Maps any hexadecimal digit to the variant digit that has the same two low bits. */
const variantHex = new Map(
  Array.from("0123456789abcdef", (digit, value) => [digit, "89ab".charAt(value & 3)]),
);

/** Creates an independent source. Its ids increase; ids of different sources are not ordered relative to each other. */
export function createUuidV7Source(
  /** Wall clock, in Unix milliseconds. */ now: () => number,
  /** Returns secure random bytes. Called for {@link poolBytes} at a time, because each call is slow. */ randomBytes: (
    bytes: number,
  ) => Uint8Array,
): UuidSource {
  const takeRandomHex = createRandomHexPool(randomBytes);
  let timeMs = -1;
  let counter = counterMax;
  let prefix = "";

  function startMillisecond(nextTimeMs: number): void {
    if (!(nextTimeMs >= 0 && nextTimeMs <= timeMsMax)) {
      throw new RangeError("the clock is outside the range of UUID version 7");
    }
    timeMs = nextTimeMs;
    const timeHex = timeMs.toString(16).padStart(12, "0");
    prefix = `${timeHex.slice(0, 8)}-${timeHex.slice(8)}-7`;
    // The counter starts in the lower half of its range: the value is hard to guess, and at least 2,048 IDs fit into
    // the millisecond.
    counter = Number.parseInt(takeRandomHex().slice(0, 3), 16) >> 1;
  }

  return {
    next: () => {
      const nowMs = Math.floor(now());
      if (nowMs > timeMs || timeMs < 0) startMillisecond(nowMs);
      else if (counter === counterMax) startMillisecond(timeMs + 1);
      else counter++;
      const random = takeRandomHex();
      const variant = variantHex.get(random.charAt(0));
      return `${prefix}${counterHex[counter]}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
    },
  };
}

/** Returns 16 hexadecimal digits (64 bits) per call. For speed, a whole pool is converted at a time. */
function createRandomHexPool(randomBytes: (bytes: number) => Uint8Array): () => string {
  let pool = "";
  let used = 0;
  return () => {
    if (used >= pool.length) {
      const bytes = randomBytes(poolBytes);
      pool = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
      used = 0;
    }
    used += randomHexPerId;
    return pool.slice(used - randomHexPerId, used);
  };
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{12}$/i;

/** True for the 36-character form of any UUID, in either case. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** The smallest version 7 UUID for a time in Unix milliseconds. UUIDs created later are not smaller. */
export function uuidV7Floor(timeMs: number): string {
  const clamped = Math.min(timeMsMax, Math.max(0, Math.floor(timeMs)));
  const timeHex = clamped.toString(16).padStart(12, "0");
  return `${timeHex.slice(0, 8)}-${timeHex.slice(8)}-7000-8000-000000000000`;
}

/** The Unix milliseconds of a version 7 UUID; null for anything else. */
export function uuidV7TimeMs(text: string): number | null {
  const match = uuidPattern.exec(text);
  if (match === null || match[1] !== "7" || !/[89ab]/i.test(match[2] ?? "")) return null;
  return Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16);
}
