import type { DeliveryOrigin, DeliveryState } from "../../domain/delivery.ts";
import type { DeliveryOrder } from "../../resources/delivery.ts";
import type { FailureCategory } from "../../domain/classify.ts";
import type { SearchBudget } from "../clock.ts";

/**
 * A search for deliveries. A page ends when its budget is spent, even if it has few rows. Finding rare rows in a long
 * history takes several pages, but never blocks deliveries.
 */
export interface DeliverySearch {
  readonly filter: DeliveryFilter;
  readonly order: DeliveryOrder;
  /** Only rows after this position; null starts at the beginning. */
  readonly after: SearchPlace | null;
  readonly limit: number;
  readonly budget: SearchBudget;
}

/** Null disables a filter; a list contains the accepted values, and an empty list accepts nothing. */
export interface DeliveryFilter {
  /** If a tenant is set, rows of other tenants are invisible. */
  readonly tenantId: string | null;
  readonly webhookIds: readonly string[] | null;
  readonly eventId: string | null;
  /** Patterns as defined in domain/event-type.ts. */
  readonly eventTypes: readonly string[] | null;
  readonly states: readonly DeliveryState[] | null;
  readonly categories: readonly FailureCategory[] | null;
  readonly httpStatuses: HttpStatusFilter | null;
  readonly origins: readonly DeliveryOrigin[] | null;
  readonly attemptMin: number | null;
  /** A substring of the error message or of the response sample of the last attempt. Case-insensitive. */
  readonly errorText: string | null;
  /** Only deliveries of the newest event with this key, for each tenant. */
  readonly idempotencyKey: string | null;
  /** Only deliveries of events from this gateway source. The events are found by their keys. */
  readonly sourceId?: string | null;
  /** Creation time, Unix milliseconds, both inclusive. */
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

/** In each field, null disables the filter. */
export interface EventFilter {
  /** If a tenant is set, rows of other tenants are invisible. */
  readonly tenantId: string | null;
  /** Patterns as defined in domain/event-type.ts. */
  readonly eventTypes: readonly string[] | null;
  readonly source: string | null;
  /** Only the newest event with this key, for each tenant. */
  readonly idempotencyKey: string | null;
  /** True: only events without deliveries. False: only events with deliveries. */
  readonly unmatched: boolean | null;
  /** A substring of the published content, compared byte for byte. */
  readonly dataContains: string | null;
  /** Time of acceptance, Unix milliseconds, both inclusive. */
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
  /** First digits of the status: 5 means 500 to 599. */
  readonly classes: readonly number[];
  /** Whether to include attempts without a response. */
  readonly none: boolean;
}

/** The last row of a page. */
export interface SearchPlace {
  readonly position: number;
  /** Due time of the last row, if rows are sorted by next attempt. */
  readonly dueAt: number | null;
}

/** Rows in the requested order, and the position that the search has reached. */
export interface SearchPage<Row, Place = SearchPlace> {
  readonly rows: readonly Row[];
  /** Position at which to continue; null if everything has been scanned. */
  readonly next: Place | null;
  /** Creation time of the last scanned row; null if all rows were scanned, or if rows are sorted by next attempt. */
  readonly searchedTo: number | null;
  /** Whether the page is incomplete because its budget was spent, so that more rows may match. */
  readonly isCutShort: boolean;
}

/**
 * Maximum number of waiting deliveries that a search examines separately. A search that is sorted by next attempt
 * considers only these deliveries. In any other order, it continues with the history after them.
 */
export const waitingLookedMax = 10_000;

/**
 * Upper bound for the clock differences between machines plus the time that a commit takes. Rows are in time order
 * within this bound.
 */
export const clocksDifferMs = 60_000;
