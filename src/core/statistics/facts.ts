import { agesFrom } from "../delivery.ts";
import type { AttemptRecord, DeliveryProgress } from "../delivery.ts";
import type { Counts } from "./counts.ts";
import { placeOf } from "./distribution.ts";
import { categoryKey, keys, outcomeKey } from "./keys.ts";

/** Which statistics a fact belongs to. The order is part of what is stored. */
export const factKinds = ["delivery", "event"] as const;
export type FactKind = (typeof factKinds)[number];

/**
 * One thing that happened: a settlement, or a publish. `Name` is a text where facts are made, and a number where they are
 * stored. It counts for its subject, for its tenant and for all tenants together.
 */
export interface Fact<Name = string> {
  readonly kind: FactKind;
  /** Unix milliseconds. */
  readonly at: number;
  readonly tenant: Name;
  /** The webhook of a delivery, the type of an event. */
  readonly subject: Name;
  /** Each counts one. */
  readonly keys: readonly number[];
  /** Counts for `keys.amount`. */
  readonly amount: number;
}

export function addFact(counts: Counts, fact: Pick<Fact, "keys" | "amount">): void {
  for (const key of fact.keys) counts.count(key);
  counts.add(keys.amount, { times: fact.amount });
}

/** What a settlement says. `attempt` is null when no request was made. */
export interface SettledFacts {
  readonly tenantId: string;
  readonly webhookId: string;
  readonly progress: DeliveryProgress;
  readonly attempt: AttemptRecord | null;
  readonly settledAt: number;
  readonly bytes: number;
  /** The delivery had ended before, and that end was counted. */
  readonly isLate: boolean;
}

/** Null when there is nothing to count. */
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

export interface PublishedFacts {
  readonly tenantId: string;
  readonly eventType: string;
  readonly at: number;
  /** How many, skipped ones included. */
  readonly deliveries: number;
  /** Ids of webhooks that would have got it, but are not active. */
  readonly skipped: readonly string[];
}

/** What is counted when an event was stored. */
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

/** What is counted when an event was there already. */
export function duplicateFact({
  tenantId,
  eventType,
  at,
}: Pick<PublishedFacts, "tenantId" | "eventType" | "at">): Fact {
  return { kind: "event", at, tenant: tenantId, subject: eventType, keys: [keys.duplicate], amount: 0 };
}
