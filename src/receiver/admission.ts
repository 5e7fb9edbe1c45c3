import { createBucket, tryTake, type RateBucket } from "../domain/rate-limit.ts";
import { type ReceivedMessage, pathOf } from "./message/message.ts";
import { ReceiverError } from "./receiver-error.ts";

/** Throws ReceiverError 405, 413 or 415. */
export function admit(
  message: ReceivedMessage,
  bodyBytesMax: number,
  /**
   * Patterns such as `application/json` or `application/*+json`. Null accepts every type, and messages without a type.
   */ contentTypes: readonly string[] | null,
): void {
  if (message.method !== "POST") {
    throw new ReceiverError("method_not_allowed", "Messages are delivered by POST.");
  }
  if (message.body.byteLength > bodyBytesMax) throw tooLarge(bodyBytesMax);
  if (contentTypes !== null) checkFormat(message, contentTypes);
}

/** Throws ReceiverError `not_found`. */
export function checkPath({ url }: ReceivedMessage, isServed: (path: string) => boolean): void {
  if (!isServed(pathOf(url))) throw new ReceiverError("not_found", "No endpoint has this path.");
}

export function tooLarge(bodyBytesMax: number): ReceiverError {
  return new ReceiverError("payload_too_large", `The body has more than ${bodyBytesMax} bytes.`);
}

function checkFormat({ headers }: ReceivedMessage, contentTypes: readonly string[]): void {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") throw unsupported("Send the body without a Content-Encoding.");
  const type = (headers.get("content-type") ?? "").replace(/;.*$/s, "").trim().toLowerCase();
  if (!contentTypes.some((pattern) => isOfType(type, pattern.toLowerCase()))) {
    throw unsupported(`Send one of: ${contentTypes.join(", ")}.`);
  }
}

/** A `*` in a pattern matches any characters except a slash. */
function isOfType(type: string, pattern: string): boolean {
  const star = pattern.indexOf("*");
  if (star < 0) return type === pattern;
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  const isLongEnough = type.length > before.length + after.length;
  if (!isLongEnough || !type.startsWith(before) || !type.endsWith(after)) return false;
  return !type.slice(before.length, type.length - after.length).includes("/");
}

function unsupported(detail: string): ReceiverError {
  return new ReceiverError("unsupported_media_type", detail);
}

/** Rate limit of one producer; further requests get 429 with `Retry-After`. */
export interface RateLimit {
  readonly requestsPerMinute: number;
  /** Burst size; defaults to 20. */
  readonly burst?: number;
}

/**
 * Maximum number of producers to track. Producers are configured, so there are usually few, but a custom verifier may
 * create many.
 */
const bucketsMax = 10_000;

/**
 * Creates a function that counts the requests of each producer separately, so that attackers cannot use up another
 * producer's limit. Call it only after the signature was verified. Throws RangeError for an invalid limit; the function
 * throws ReceiverError `rate_limited`.
 */
export function createRateGate(limit: RateLimit, now: () => number): (producer: string) => void {
  const config = { requestsPerMinute: limit.requestsPerMinute, burst: limit.burst ?? 20 };
  createBucket(config);
  const buckets = new Map<string, RateBucket>();

  return (producer) => {
    let bucket = buckets.get(producer);
    if (bucket === undefined) {
      if (buckets.size >= bucketsMax) buckets.clear();
      bucket = createBucket(config);
      buckets.set(producer, bucket);
    }
    const waitMs = tryTake(bucket, now());
    if (waitMs > 0) {
      const detail = `No more than ${config.requestsPerMinute} requests per minute are accepted.`;
      throw new ReceiverError("rate_limited", detail, { retryAfterSeconds: waitMs / 1_000 });
    }
  };
}

/** When to refuse messages temporarily. */
export interface OverloadRules {
  /** Maximum number of messages in progress. */
  readonly inFlightMax?: number;
  /** Called for each message; must return true while the application cannot accept more. */
  readonly isOverloaded?: () => boolean;
  /** Sent as `Retry-After`; defaults to the receiver's value. */
  readonly retryAfterSeconds?: number;
}

/** Throws ReceiverError `overloaded`. */
export function checkLoad(inFlight: number, rules: OverloadRules): void {
  if (inFlight < (rules.inFlightMax ?? Infinity) && rules.isOverloaded?.() !== true) return;
  throw new ReceiverError("overloaded", "The receiver is overloaded.", {
    retryAfterSeconds: rules.retryAfterSeconds,
  });
}
