import type { DeliveryRetry, RetriedAt } from "../../core/delivery.ts";

/** Older retries are dropped: a delivery may be retried for as long as its payload is kept. */
const keptMax = 20;

/** The last retry from its two columns, which are both null or both set. */
export function retriedFrom(at: number | null, attemptCount: number | null): RetriedAt | null {
  return at === null ? null : { at, attemptCount: attemptCount ?? 0 };
}

/** The column `retries` with one more entry. */
export function withRetry(text: string | null, retry: DeliveryRetry): string {
  return JSON.stringify([...retriesFromText(text), retry].slice(-keptMax));
}

export function retriesFromText(text: string | null): readonly DeliveryRetry[] {
  return text === null ? none : (JSON.parse(text) as readonly DeliveryRetry[]);
}

const none: readonly DeliveryRetry[] = [];
