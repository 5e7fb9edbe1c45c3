import type { DeliveryOrigin, DeliveryState } from "../../domain/delivery.ts";
import type { DeliveryOrder } from "../../resources/delivery.ts";
import type { FailureCategory } from "../../domain/classify.ts";
import type { SearchBudget } from "../clock.ts";

/**
 * A search for deliveries. Pages end when their budget is spent, however few rows they have. Finding rare rows in a
 * long history takes several pages, but never blocks deliveries.
 */
export interface DeliverySearch {
  readonly filter: DeliveryFilter;
  readonly order: DeliveryOrder;
  /** Only rows after this place; null starts at the beginning. */
  readonly after: SearchPlace | null;
  readonly limit: number;
  readonly budget: SearchBudget;
}

/** Null disables a filter; a list contains the accepted values, and an empty list accepts nothing. */
export interface DeliveryFilter {
  /** With a tenant set, rows of other tenants are invisible. */
  readonly tenantId: string | null;
  readonly webhookIds: readonly string[] | null;
  readonly eventId: string | null;
  /** Patterns of domain/event-type.ts. */
  readonly eventTypes: readonly string[] | null;
  readonly states: readonly DeliveryState[] | null;
  readonly categories: readonly FailureCategory[] | null;
  readonly httpStatuses: HttpStatusFilter | null;
  readonly origins: readonly DeliveryOrigin[] | null;
  readonly attemptMin: number | null;
  /** Text in the error message or in the response sample of the last attempt; case-insensitive. */
  readonly errorText: string | null;
  /** Deliveries of the newest event with this key, per tenant. */
  readonly idempotencyKey: string | null;
  /** Deliveries of events from a gateway source, identified by their keys. */
  readonly sourceId?: string | null;
  /** By creation time, Unix milliseconds, both inclusive. */
  readonly from: number | null;
  readonly to: number | null;
}

/** Matches every delivery. */
export const everyDelivery: DeliveryFilter = {
  tenantId: null,
  webhookIds: null,
  eventId: null,
  eventTypes: null,
  states: null,
  categories: null,
  httpStatuses: null,
  origins: null,
  attemptMin: null,
  errorText: null,
  idempotencyKey: null,
  sourceId: null,
  from: null,
  to: null,
};

/** A search for events, newest first; works like `DeliverySearch`. */
export interface EventSearch {
  readonly filter: EventFilter;
  readonly after: SearchPlace | null;
  readonly limit: number;
  readonly budget: SearchBudget;
}

/** Null disables a filter. */
export interface EventFilter {
  /** With a tenant set, rows of other tenants are invisible. */
  readonly tenantId: string | null;
  /** Patterns of domain/event-type.ts. */
  readonly eventTypes: readonly string[] | null;
  readonly source: string | null;
  /** The newest event with this key, per tenant. */
  readonly idempotencyKey: string | null;
  /** Whether the event had no deliveries. */
  readonly unmatched: boolean | null;
  /** Text in the published content, byte for byte. */
  readonly dataContains: string | null;
  /** By time of acceptance, Unix milliseconds, both inclusive. */
  readonly from: number | null;
  readonly to: number | null;
}

/** Matches every event. */
export const everyEvent: EventFilter = {
  tenantId: null,
  eventTypes: null,
  source: null,
  idempotencyKey: null,
  unmatched: null,
  dataContains: null,
  from: null,
  to: null,
};

/** Filters by the status of the last attempt. */
export interface HttpStatusFilter {
  readonly codes: readonly number[];
  /** First digits: 5 is 500 to 599. */
  readonly classes: readonly number[];
  /** An attempt got no response. */
  readonly none: boolean;
}

/** The last row of a page. */
export interface SearchPlace {
  readonly position: number;
  /** Of that row, if rows are sorted by next attempt. */
  readonly dueAt: number | null;
}

/** Rows in the requested order, and how far the search came. */
export interface SearchPage<Row, Place = SearchPlace> {
  readonly rows: readonly Row[];
  /** Where to continue; null if nothing is left to scan. */
  readonly next: Place | null;
  /** Creation time of the last scanned row; null if all rows were scanned, or if rows are sorted by next attempt. */
  readonly searchedTo: number | null;
  /** The page is not full because its budget was spent: more rows may match. */
  readonly isCutShort: boolean;
}

/**
 * A search examines at most this many waiting deliveries separately. Sorted by next attempt, it considers only
 * these; otherwise it continues through the history from there.
 */
export const waitingLookedMax = 10_000;

/** Upper bound for clock differences between machines plus commit times. Rows are in time order except for that. */
export const clocksDifferMs = 60_000;
