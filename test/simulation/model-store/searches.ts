import { relayedKeyPrefix } from "../../../src/features/gateway/relayed.ts";
import type { EventSummary, StoredDelivery } from "../../../src/ports/store/history.ts";
import type { DeliverySearch, EventSearch, SearchPage } from "../../../src/ports/store/search.ts";
import {
  comparedIn,
  eventFulfils,
  fulfils,
  isWaiting,
} from "../../conformance/store/search-model.fixture.ts";
import { type EventRow, type Rows, storedDelivery, storedEvent } from "./rows.ts";

/** A search that scans everything. Its result is complete regardless of the budget. */
export function searchModel(rows: Rows, search: DeliverySearch): SearchPage<StoredDelivery> {
  const { order, after, limit, filter } = search;
  const isDue = order === "next_attempt";
  const found = [...rows.deliveries.values()]
    .filter((row) => isNewestOfKey(rows, row.event, filter.idempotencyKey))
    .filter(({ event }) => isOfSource(event, filter.sourceId ?? null))
    .map(storedDelivery)
    .filter((row) => fulfils(row, filter) && (!isDue || isWaiting(row)))
    .toSorted((a, b) => comparedIn(order, a, b));
  const last = after === null ? undefined : rows.byRef.get(after.position);
  const behind =
    last === undefined ? found : found.filter((row) => comparedIn(order, row, storedDelivery(last)) > 0);
  const shown = behind.slice(0, limit);
  const end = shown.at(-1);
  const next =
    behind.length <= limit || end === undefined
      ? null
      : { position: end.position, dueAt: isDue ? end.progress.dueAt : null };
  const searchedTo = next === null || isDue ? null : (end?.progress.createdAt ?? null);
  return { rows: shown, next, searchedTo, isCutShort: false };
}

export function searchEventModel(rows: Rows, search: EventSearch): SearchPage<EventSummary> {
  const { after, limit, filter } = search;
  const behind = [...rows.events.values()]
    .filter((row) => isNewestOfKey(rows, row, filter.idempotencyKey))
    .filter((row) => eventFulfils(storedEvent(row), { filter, body: row.body }))
    .filter(({ position }) => after === null || position < after.position)
    .toSorted((a, b) => b.position - a.position)
    .map(storedEvent);
  const shown = behind.slice(0, limit);
  const end = shown.at(-1);
  const isMore = behind.length > limit && end !== undefined;
  return {
    rows: shown,
    next: isMore ? { position: end.position, dueAt: null } : null,
    searchedTo: isMore ? end.createdAt : null,
    isCutShort: false,
  };
}

function isOfSource({ event }: EventRow, sourceId: string | null): boolean {
  return sourceId === null || event.idempotencyKey?.startsWith(relayedKeyPrefix(sourceId)) === true;
}

function isNewestOfKey(rows: Rows, row: EventRow, key: string | null): boolean {
  return key === null || rows.dedup.get(JSON.stringify([row.event.tenantId, key]))?.event === row;
}
