import type { DeliveryProgress } from "./delivery.ts";

/** Clocks of different machines are assumed to differ by less than this. */
export const clockDifferenceMs = 1_000;

/** When the last attempt was sent, and the due time of the next one that was computed from it. */
export interface LastAttempt {
  readonly executedAt: number;
  readonly nextRetryAt: number | null;
}

/**
 * The corrected due time of a waiting delivery whose times come from a clock that was ahead; null if its times are
 * plausible. The remaining wait counts from now: the delay of a new delivery, or the schedule and `Retry-After` of a
 * retry.
 *
 * The corrected times are plausible themselves, so each delivery is corrected only once: a new delivery gets `now` as
 * its creation time, and the due time of a retry no longer matches its last attempt.
 */
export function dueBroughtNear(
  progress: Pick<DeliveryProgress, "state" | "attemptCount" | "createdAt" | "dueAt" | "retried">,
  lastAttempt: LastAttempt | null,
  now: number,
): number | null {
  const { state, attemptCount, createdAt, dueAt, retried } = progress;
  // A manual retry is due immediately.
  if (state === "pending" && retried !== null) return dueAt > now + clockDifferenceMs ? now : null;
  if (attemptCount === 0) {
    return createdAt > now + clockDifferenceMs ? now + Math.max(0, dueAt - createdAt) : null;
  }
  if (lastAttempt === null || lastAttempt.nextRetryAt !== dueAt) return null;
  const { executedAt } = lastAttempt;
  return executedAt > now + clockDifferenceMs ? now + Math.max(0, dueAt - executedAt) : null;
}
