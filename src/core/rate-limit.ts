/**
 * Token bucket in its GCRA form: one number per bucket says when it will be full again, so that a refused caller can
 * be told exactly how long to wait instead of trying again every second (WDS-59, 60, 165, 166).
 *
 * Buckets are changed in place; `now` is Unix ms. Nothing allocates after `createBucket`.
 */
import type { RateLimitConfig } from "./profile.ts";

export interface RateBucket {
  /** Time between two requests at the sustained rate. */
  intervalMs: number;
  /** How far ahead of the sustained rate a burst may run. */
  toleranceMs: number;
  /** When the bucket is full again: the "theoretical arrival time" of GCRA. */
  fullAt: number;
}

/** A full bucket. Throws RangeError for a rate that is not positive, a burst below 1, or either infinite. */
export function createBucket(config: RateLimitConfig): RateBucket {
  const bucket: RateBucket = { intervalMs: 0, toleranceMs: 0, fullAt: 0 };
  reconfigureBucket(bucket, config);
  return bucket;
}

/** Puts another limit in force and keeps what was used up, so that a change is no way around the limit. */
export function reconfigureBucket(bucket: RateBucket, config: RateLimitConfig): void {
  const { requestsPerMinute, burst } = config;
  if (!(requestsPerMinute > 0 && requestsPerMinute < Infinity && burst >= 1 && burst < Infinity)) {
    throw new RangeError(`not a rate limit: ${requestsPerMinute} per minute, burst ${burst}`);
  }
  // Rounded up to 1/1024 ms: sums of such numbers with today's Unix times are exact, so a full bucket holds its whole
  // burst and a wait that was told is always enough.
  bucket.intervalMs = Math.ceil((60_000 / requestsPerMinute) * 1_024) / 1_024;
  bucket.toleranceMs = (burst - 1) * bucket.intervalMs;
}

/**
 * Ms until the next request may go, 0 when it may go now. Takes nothing. After the clock was set back the wait is counted
 * once from here, or it would begin anew with every look.
 */
export function peekWaitMs(bucket: RateBucket, now: number): number {
  bucket.fullAt = Math.min(bucket.fullAt, fullAtMax(bucket, now));
  return Math.max(0, Math.ceil(bucket.fullAt - bucket.toleranceMs - now));
}

/** Takes one token and returns 0, or returns the ms until that would succeed, if nobody else is faster. */
export function tryTake(bucket: RateBucket, now: number): number {
  const waitMs = peekWaitMs(bucket, now);
  if (waitMs === 0) take(bucket, now);
  return waitMs;
}

/** Takes one token of every bucket or of none; returns the longest wait in ms, 0 when taken (C-34). */
export function tryTakeAll(buckets: readonly RateBucket[], now: number): number {
  let waitMs = 0;
  for (const bucket of buckets) waitMs = Math.max(waitMs, peekWaitMs(bucket, now));
  if (waitMs === 0) for (const bucket of buckets) take(bucket, now);
  return waitMs;
}

/** Counts a request that something else let through, such as a bucket that processes share. An empty one stays empty. */
export function spend(bucket: RateBucket, now: number): void {
  take(bucket, now);
  bucket.fullAt = Math.min(bucket.fullAt, fullAtMax(bucket, now));
}

/** Takes over how far the bucket is used up from whoever knows: when it will be full again. */
export function fillAt(bucket: RateBucket, fullAt: number): void {
  bucket.fullAt = fullAt;
}

/** Gives back a token for a request that was never sent. */
export function giveBack(bucket: RateBucket): void {
  bucket.fullAt -= bucket.intervalMs;
}

/** The limit that satisfies all that are set: smallest rate, smallest burst; null when none is set (C-34). */
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

/** An empty bucket is full again after this long. Later can only mean that the clock was set back. */
function fullAtMax(bucket: RateBucket, now: number): number {
  return now + bucket.toleranceMs + bucket.intervalMs;
}
