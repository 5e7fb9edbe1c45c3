import type { DeliveryProgress } from "./delivery.ts";

/** Clocks of different machines differ by less than this. */
export const clockDifferenceMs = 1_000;

/** When the last attempt was made, and when it said that the next one is due. */
export interface LastAttempt {
  readonly executedAt: number;
  readonly nextRetryAt: number | null;
}

/**
 * When a waiting delivery is due that was written by a clock that was ahead; null where its times are sound. What was
 * still to be waited for counts from now: the delay of a new delivery, or the schedule's and `Retry-After` of a retry.
 *
 * The result is sound itself, so that a delivery is brought near once: a new one gets `now` as its time of creation, and
 * the due time of a retry is no longer that of its last attempt.
 */
export function dueBroughtNear(
  progress: Pick<DeliveryProgress, "state" | "attemptCount" | "createdAt" | "dueAt" | "retried">,
  lastAttempt: LastAttempt | null,
  now: number,
): number | null {
  const { state, attemptCount, createdAt, dueAt, retried } = progress;
  // A manual retry is due at once.
  if (state === "pending" && retried !== null) return dueAt > now + clockDifferenceMs ? now : null;
  if (attemptCount === 0) {
    return createdAt > now + clockDifferenceMs ? now + Math.max(0, dueAt - createdAt) : null;
  }
  if (lastAttempt === null || lastAttempt.nextRetryAt !== dueAt) return null;
  const { executedAt } = lastAttempt;
  return executedAt > now + clockDifferenceMs ? now + Math.max(0, dueAt - executedAt) : null;
}
