/** Defines the results of a search in a simple way, for the suite and for the simulated store. */
import { Buffer } from "node:buffer";
import { matches } from "../../../src/domain/event-type.ts";
import type { EventSummary, StoredDelivery } from "../../../src/ports/store/history.ts";
import {
  type DeliveryFilter,
  type DeliverySearch,
  type EventFilter,
  type EventSearch,
  everyEvent,
} from "../../../src/ports/store/search.ts";
import { SearchBudget } from "../../../src/ports/clock.ts";

export function isWaiting({ progress }: StoredDelivery): boolean {
  return progress.state === "pending" || progress.state === "failed";
}

export function comparedIn(order: DeliverySearch["order"], a: StoredDelivery, b: StoredDelivery): number {
  if (order === "newest") return b.position - a.position;
  if (order === "oldest") return a.position - b.position;
  return a.progress.dueAt - b.progress.dueAt || a.position - b.position;
}

/** Checks every filter except the idempotency key, which a delivery does not have. */
export function fulfils(row: StoredDelivery, filter: DeliveryFilter): boolean {
  return hasColumns(row, filter) && hasStatus(row, filter) && hasText(row, filter);
}

function hasColumns(row: StoredDelivery, filter: DeliveryFilter): boolean {
  const { progress, eventType: type } = row;
  const conditions = [
    (filter.tenantId ?? row.tenantId) === row.tenantId,
    (filter.eventId ?? row.eventId) === row.eventId,
    isAmong(filter.webhookIds, row.webhookId),
    filter.eventTypes?.some((pattern) => matches(pattern, type)) ?? true,
    isAmong(filter.states, progress.state),
    isAmong(filter.categories, row.category),
    isAmong(filter.origins, row.origin),
    progress.attemptCount >= (filter.attemptMin ?? 0),
    progress.createdAt >= (filter.from ?? Number.NEGATIVE_INFINITY),
    progress.createdAt <= (filter.to ?? Number.POSITIVE_INFINITY),
  ];
  return conditions.every(Boolean);
}

function isAmong<Value>(values: readonly Value[] | null, value: Value | null): boolean {
  return values === null || (value !== null && values.includes(value));
}

function hasStatus({ lastAttempt: last }: StoredDelivery, { httpStatuses: asked }: DeliveryFilter): boolean {
  if (asked === null) return true;
  if (last === null) return false;
  const { statusCode: code } = last;
  if (code === null) return asked.none;
  return asked.codes.includes(code) || asked.classes.includes(Math.floor(code / 100));
}

function hasText({ lastAttempt: last }: StoredDelivery, { errorText: text }: DeliveryFilter): boolean {
  if (text === null) return true;
  return [last?.errorMessage ?? "", last?.responseSample ?? ""].some((kept) =>
    kept.toLowerCase().includes(text.toLowerCase()),
  );
}

/** A filter that matches every event. */
export function eventSearchOf({
  rowsMax = 1_000_000,
  limit = 100,
  after = null,
  ...filter
}: Partial<EventFilter> & {
  readonly rowsMax?: number;
  readonly limit?: number;
  readonly after?: EventSearch["after"];
} = {}): EventSearch {
  const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax, durationMsMax: 1 });
  return { filter: { ...everyEvent, ...filter }, after, limit, budget };
}

/** Checks every filter except the idempotency key, which may belong to a different event by now. */
export function eventFulfils(
  event: EventSummary,
  { filter, body }: { readonly filter: EventFilter; readonly body: Uint8Array | null },
): boolean {
  const { eventType: type } = event;
  const conditions = [
    (filter.tenantId ?? event.tenantId) === event.tenantId,
    filter.eventTypes?.some((pattern) => matches(pattern, type)) ?? true,
    (filter.source ?? event.source) === event.source,
    (filter.unmatched ?? event.deliveries === 0) === (event.deliveries === 0),
    filter.dataContains === null || Buffer.from(body ?? []).includes(filter.dataContains),
    event.createdAt >= (filter.from ?? Number.NEGATIVE_INFINITY),
    event.createdAt <= (filter.to ?? Number.POSITIVE_INFINITY),
  ];
  return conditions.every(Boolean);
}
