import { agesFrom, type AttemptRecord, type DeliveryProgress } from "../delivery.ts";
import {
  type Counts,
  type DistributionName,
  categoryKey,
  distributionSpan,
  keys,
  outcomeKey,
} from "./counts.ts";

/**
 * Distributions of durations. Each class is a fifth longer than the one before, so a value read from a class is off by
 * no more than a tenth, and class counts add up over buckets, webhooks and processes. The first class is everything
 * below a millisecond.
 */
const growth = 1.2;
const logOfGrowth = Math.log(growth);

/** The class of a duration in milliseconds. */
export function placeOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(distributionSpan - 1, 1 + Math.floor(Math.log(ms) / logOfGrowth));
}

/** A duration in the middle of a class, in milliseconds. */
export function timeAt(place: number): number {
  return place === 0 ? 0.5 : growth ** (place - 0.5);
}

/** The duration that the given share stays below (nearest rank), in milliseconds; null if nothing was counted. */
export function percentile(counts: Counts, name: DistributionName, share: number): number | null {
  const from = keys[name];
  const places = counts.within(from, from + distributionSpan);
  const all = places.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  for (const [key, count] of places) {
    below += count;
    if (below >= all * share) return timeAt(key - from);
  }
  return null;
}

/** The statistics that a fact belongs to. Stored data depends on the order. */
export const factKinds = ["delivery", "event"] as const;
export type FactKind = (typeof factKinds)[number];

/**
 * One counted occurrence: a settlement or a publish. `Name` is a string where facts are created, and a number where
 * they are stored. It counts for its subject, for its tenant and for all tenants together.
 */
export interface Fact<Name = string> {
  readonly kind: FactKind;
  /** Unix milliseconds. */
  readonly at: number;
  readonly tenant: Name;
  /** The webhook of a delivery, the type of an event. */
  readonly subject: Name;
  /** Each key counts one. */
  readonly keys: readonly number[];
  /** Added to `keys.amount`. */
  readonly amount: number;
}

export function addFact(counts: Counts, fact: Pick<Fact, "keys" | "amount">): void {
  for (const key of fact.keys) counts.count(key);
  counts.add(keys.amount, fact.amount);
}

/** The facts of a settlement. `attempt` is null if no request was sent. */
interface SettledFacts {
  readonly tenantId: string;
  readonly webhookId: string;
  readonly progress: DeliveryProgress;
  readonly attempt: AttemptRecord | null;
  readonly settledAt: number;
  readonly bytes: number;
  /** The delivery had already ended, and that end was counted. */
  readonly isLate: boolean;
}

/** Null if there is nothing to count. */
export function settlementFact(settled: SettledFacts): Fact | null {
  const { progress, attempt, settledAt } = settled;
  const counted = attempt === null ? [] : attemptKeys(attempt, progress.createdAt);
  if (progress.state === "success")
    counted.push(keys.success, keys.total + placeOf(settledAt - agesFrom(progress)));
  if (progress.state === "exhausted" && !settled.isLate) counted.push(keys.exhausted);
  if (counted.length === 0) return null;
  return {
    kind: "delivery",
    at: settledAt,
    tenant: settled.tenantId,
    subject: settled.webhookId,
    keys: counted,
    amount: attempt === null ? 0 : settled.bytes,
  };
}

function attemptKeys(attempt: AttemptRecord, createdAt: number): number[] {
  const { statusCode, category } = attempt;
  const counted = [
    outcomeKey(attempt.outcome),
    keys.statusClass + (statusCode === null ? 0 : Math.min(9, Math.floor(statusCode / 100))),
    keys.duration + placeOf(attempt.durationMs),
  ];
  if (attempt.receiverStateUnknown) counted.push(keys.unknown);
  if (statusCode !== null) counted.push(keys.status + Math.min(statusCode, 999));
  if (category !== null) counted.push(categoryKey(category));
  if (attempt.number === 1) counted.push(keys.lag + placeOf(attempt.executedAt - createdAt));
  return counted;
}

interface PublishedFacts {
  readonly tenantId: string;
  readonly eventType: string;
  readonly at: number;
  /** Number of deliveries, including skipped ones. */
  readonly deliveries: number;
  /** Ids of subscribed webhooks that are not active. */
  readonly skipped: readonly string[];
}

/** The facts of a stored event. */
export function publishFacts(event: PublishedFacts): readonly Fact[] {
  const { tenantId, eventType, at, deliveries, skipped } = event;
  const published: Fact = {
    kind: "event",
    at,
    tenant: tenantId,
    subject: eventType,
    keys: deliveries === 0 ? [keys.published, keys.unmatched] : [keys.published],
    amount: deliveries,
  };
  const skippedFact = (webhookId: string): Fact => {
    return { kind: "delivery", at, tenant: tenantId, subject: webhookId, keys: [keys.skipped], amount: 0 };
  };
  return [published, ...skipped.map(skippedFact)];
}

/** The fact of an event that was already stored. */
export function duplicateFact({
  tenantId,
  eventType,
  at,
}: Pick<PublishedFacts, "tenantId" | "eventType" | "at">): Fact {
  return { kind: "event", at, tenant: tenantId, subject: eventType, keys: [keys.duplicate], amount: 0 };
}
