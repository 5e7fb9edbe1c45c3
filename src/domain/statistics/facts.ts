import { type AttemptRecord, type DeliveryProgress, agesFrom } from "../delivery.ts";
import type { Counts } from "./counts.ts";
import { type Ending, endings } from "../delivery-state.ts";
import { type FailureCategory, type Outcome, failureCategories } from "../classify.ts";

/** Key range reserved for one distribution. */
const distributionSpan = 1_000;

/**
 * Distributions of durations. Each class is a fifth longer than the one before, so a value derived from a class is off
 * by no more than a tenth. Class counts can be added across buckets, webhooks and processes. The first class is
 * everything below a millisecond.
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

/**
 * The duration below which the given share of values lies (nearest rank), in milliseconds; null if nothing has been
 * counted.
 */
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
 * they are stored. A fact counts for its subject, for its tenant and for all tenants together.
 */
export interface Fact<Name = string> {
  readonly kind: FactKind;
  /** Unix milliseconds. */
  readonly at: number;
  readonly tenant: Name;
  /** The webhook of a delivery, or the type of an event. */
  readonly subject: Name;
  /** Each key is counted once. */
  readonly keys: readonly number[];
  /** Value to add to `keys.amount`. */
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
  /** Whether the delivery had already ended. Its end has then been counted before. */
  readonly isLate: boolean;
}

/** Null if nothing is counted. */
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
  /** IDs of webhooks that subscribe to the event but are not active. */
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

/** Time steps of statistics, in Unix time. Stored data depends on the order. */
export const statisticsSteps = ["minute", "hour", "day"] as const;
export type StatisticsStep = (typeof statisticsSteps)[number];

export const stepMs: Readonly<Record<StatisticsStep, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** The start of the bucket that contains a time. */
export function bucketAt(time: number, step: StatisticsStep): number {
  return Math.floor(time / stepMs[step]) * stepMs[step];
}

/** The starts of all buckets in a range; `to` is exclusive. */
export function bucketsWithin(from: number, to: number, step: StatisticsStep): readonly number[] {
  const starts: number[] = [];
  for (let start = bucketAt(from, step); start < to; start += stepMs[step]) starts.push(start);
  return starts;
}

/** Default retention of buckets: 48 hours, 35 days, 800 days. */
export const statisticsKeptMsDefault: Readonly<Record<StatisticsStep, number>> = {
  minute: 48 * stepMs.hour,
  hour: 35 * stepMs.day,
  day: 800 * stepMs.day,
};

/**
 * Keys of counts as stored numbers. A number never changes its meaning, and a new one needs no migration. Deliveries
 * and events have separate tables, so their numbers may overlap.
 */
export const keys = {
  accepted: 1,
  transient: 2,
  terminal: 3,
  /** Whether it is unknown if the receiver processed the request. Counted in addition to the outcome. */
  unknown: 4,
  success: 5,
  exhausted: 6,
  cancelled: 7,
  skipped: 8,
  /** Discarded dead letters. Each was previously counted as `exhausted`. */
  discarded: 9,
  /** For deliveries, the number of bytes; for events, the number of deliveries. */
  amount: 10,
  published: 11,
  duplicate: 12,
  unmatched: 13,
  /** The first digit of the status is added; 0 without a response. */
  statusClass: 20,
  /** The index in `failureCategories` is added; that list is only extended at the end. */
  category: 40,
  /** Status codes that are not among the most frequent of a bucket. */
  statusOther: 999,
  /** The status is added. */
  status: 1_000,
  statusEnd: 2_000,
  /** The class in a distribution (`distributionSpan`) of milliseconds is added. */
  duration: 2_000,
  lag: 3_000,
  total: 4_000,
} as const;

export type DistributionName = "duration" | "lag" | "total";

export function isStatusKey(key: number): boolean {
  return key >= keys.status && key < keys.statusEnd;
}

/** The key of an ending without a request. */
export function endingKey(ending: Ending): number {
  if (ending.reason === endings.discarded.reason) return keys.discarded;
  return keys[ending.state];
}

function outcomeKey(outcome: Outcome): number {
  return keys[outcome];
}

export function categoryKey(category: FailureCategory): number {
  return keys.category + failureCategories.indexOf(category);
}
