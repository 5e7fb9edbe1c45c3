import { createBucket, tryTake, type RateBucket } from "../core/rate-limit.ts";
import type { ReceivedMessage } from "./message/message.ts";
import { pathOf } from "./message/message-url.ts";
import { ReceiverError } from "./receiver-error.ts";

/** What a message must be before anybody looks at its signature. */
export interface AdmissionRules {
  readonly bodyBytesMax: number;
  /** Patterns such as `application/json` or `application/*+json`; null takes every type, and none at all. */
  readonly contentTypes: readonly string[] | null;
}

/** Throws ReceiverError 405, 413 or 415. */
export function admit(message: ReceivedMessage, rules: AdmissionRules): void {
  if (message.method !== "POST") {
    throw new ReceiverError("method_not_allowed", "Messages are delivered by POST.");
  }
  if (message.body.byteLength > rules.bodyBytesMax) throw tooLarge(rules.bodyBytesMax);
  if (rules.contentTypes !== null) checkFormat(message, rules.contentTypes);
}

/** Throws ReceiverError `not_found` (TS16-21). */
export function checkPath({ url }: ReceivedMessage, isServed: (path: string) => boolean): void {
  if (!isServed(pathOf(url))) throw new ReceiverError("not_found", "No endpoint has this path.");
}

export function tooLarge(bodyBytesMax: number): ReceiverError {
  return new ReceiverError("payload_too_large", `The body has more than ${bodyBytesMax} bytes.`);
}

/** CEW-2.2-11, C-25. */
function checkFormat({ headers }: ReceivedMessage, contentTypes: readonly string[]): void {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") throw unsupported("Send the body without a Content-Encoding.");
  const type = (headers.get("content-type") ?? "").replace(/;.*$/s, "").trim().toLowerCase();
  if (!contentTypes.some((pattern) => isOfType({ type, pattern: pattern.toLowerCase() }))) {
    throw unsupported(`Send one of: ${contentTypes.join(", ")}.`);
  }
}

/** One `*` in a pattern stands for any characters but a slash. */
function isOfType({ type, pattern }: { readonly type: string; readonly pattern: string }): boolean {
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

/** Requests that one producer may send; the rest is answered 429 with `Retry-After` (TS16-22, CEW-2.2-9). */
export interface RateLimit {
  readonly requestsPerMinute: number;
  /** How many may come at once; default 20. */
  readonly burst?: number;
}

/** Producers that are remembered. They are configured, so there are few; a verifier of your own may invent many. */
const bucketsMax = 10_000;

/**
 * Counts after the signature is checked and for each producer apart, so that attackers cannot use up the limit of
 * somebody they are not. Throws RangeError for a limit that is none; the result throws ReceiverError `rate_limited`.
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
      const detail = `At most ${config.requestsPerMinute} requests per minute are accepted.`;
      throw new ReceiverError("rate_limited", detail, { retryAfterSeconds: waitMs / 1_000 });
    }
  };
}

/** When to turn messages away for a while (TS16-109). */
export interface OverloadRules {
  /** Messages that may be in work at once. */
  readonly inFlightMax?: number;
  /** Asked for each message; say true while the application cannot take more. */
  readonly isOverloaded?: () => boolean;
  /** Sent as `Retry-After`; default that of the receiver. */
  readonly retryAfterSeconds?: number;
}

/** Throws ReceiverError `overloaded`. */
export function checkLoad(inFlight: number, rules: OverloadRules): void {
  if (inFlight < (rules.inFlightMax ?? Infinity) && rules.isOverloaded?.() !== true) return;
  throw new ReceiverError("overloaded", "The receiver has more work than it can take now.", {
    retryAfterSeconds: rules.retryAfterSeconds,
  });
}
