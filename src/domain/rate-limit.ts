/**
 * A token bucket in its GCRA form. One number per bucket states when it will be full again, so a refused caller gets
 * the exact wait instead of retrying every second (WDS-59, 60, 165, 166).
 *
 * Buckets are changed in place; `now` is Unix ms. Nothing allocates after `createBucket`.
 */
import type { RateLimitConfig } from "./profile.ts";

export interface RateBucket {
  /** Time between two requests at the sustained rate. */
  intervalMs: number;
  /** How far ahead of the sustained rate a burst may be. */
  toleranceMs: number;
  /** When the bucket is full again: the "theoretical arrival time" of GCRA. */
  fullAt: number;
}

/**
 * Creates a full bucket. Throws RangeError unless rate and burst are finite, the rate is positive and the burst is at
 * least 1.
 */
export function createBucket(config: RateLimitConfig): RateBucket {
  const bucket: RateBucket = { intervalMs: 0, toleranceMs: 0, fullAt: 0 };
  reconfigureBucket(bucket, config);
  return bucket;
}

/** Changes the limit but keeps the used tokens, so that a change cannot bypass the limit. */
export function reconfigureBucket(bucket: RateBucket, config: RateLimitConfig): void {
  const { requestsPerMinute, burst } = config;
  if (!(requestsPerMinute > 0 && requestsPerMinute < Infinity && burst >= 1 && burst < Infinity)) {
    throw new RangeError(`not a rate limit: ${requestsPerMinute} per minute, burst ${burst}`);
  }
  // Rounded up to a multiple of 1/1024 ms. Sums of such numbers with current Unix times are exact, so a full bucket
  // holds its whole burst, and a reported wait is always long enough.
  bucket.intervalMs = Math.ceil((60_000 / requestsPerMinute) * 1_024) / 1_024;
  bucket.toleranceMs = (burst - 1) * bucket.intervalMs;
}

/**
 * Ms until the next request may be sent; 0 if it may be sent now. Takes no token. If the clock was set back, the wait
 * restarts once from now; otherwise each call would restart it.
 */
export function peekWaitMs(bucket: RateBucket, now: number): number {
  bucket.fullAt = Math.min(bucket.fullAt, fullAtMax(bucket, now));
  return Math.max(0, Math.ceil(bucket.fullAt - bucket.toleranceMs - now));
}

/**
 * Takes one token and returns 0. If no token is available, returns the ms until the next one, which another caller may
 * take first.
 */
export function tryTake(bucket: RateBucket, now: number): number {
  const waitMs = peekWaitMs(bucket, now);
  if (waitMs === 0) take(bucket, now);
  return waitMs;
}

/** Takes one token from every bucket or from none. Returns the longest wait in ms; 0 if the tokens were taken. */
export function tryTakeAll(buckets: readonly RateBucket[], now: number): number {
  let waitMs = 0;
  for (const bucket of buckets) waitMs = Math.max(waitMs, peekWaitMs(bucket, now));
  if (waitMs === 0) for (const bucket of buckets) take(bucket, now);
  return waitMs;
}

/**
 * Counts a request that was permitted elsewhere, for example by a bucket that several processes share. An empty bucket
 * remains empty.
 */
export function spend(bucket: RateBucket, now: number): void {
  take(bucket, now);
  bucket.fullAt = Math.min(bucket.fullAt, fullAtMax(bucket, now));
}

/** Sets when the bucket will be full again, as reported by another process. */
export function fillAt(bucket: RateBucket, fullAt: number): void {
  bucket.fullAt = fullAt;
}

/** Returns the token of a request that was not sent. */
export function giveBack(bucket: RateBucket): void {
  bucket.fullAt -= bucket.intervalMs;
}

/** Combines the given limits: the smallest rate and the smallest burst. Null if all of them are null. */
export function strictestLimit(limits: readonly (RateLimitConfig | null)[]): RateLimitConfig | null {
  let strictest: RateLimitConfig | null = null;
  for (const limit of limits) {
    if (limit === null) continue;
    if (strictest === null) strictest = limit;
    else {
      strictest = {
        requestsPerMinute: Math.min(strictest.requestsPerMinute, limit.requestsPerMinute),
        burst: Math.min(strictest.burst, limit.burst),
      };
    }
  }
  return strictest;
}

function take(bucket: RateBucket, now: number): void {
  bucket.fullAt = Math.max(Math.min(bucket.fullAt, fullAtMax(bucket, now)), now) + bucket.intervalMs;
}

/** When an empty bucket would be full again. A later time can only mean that the clock was set back. */
function fullAtMax(bucket: RateBucket, now: number): number {
  return now + bucket.toleranceMs + bucket.intervalMs;
}
