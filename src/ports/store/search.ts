import type { DeliveryOrigin, DeliveryState } from "../../core/delivery.ts";
import type { DeliveryOrder } from "../../core/fields/delivery-list.ts";
import type { FailureCategory } from "../../core/outcome.ts";
import type { SearchBudget } from "../timing/search-budget.ts";

/**
 * A question of a person about deliveries. It is answered a page at a time, and a page ends with its budget, however little
 * it found: what is rare in a long history is found by going on, never by holding up deliveries.
 */
export interface DeliverySearch {
  readonly filter: DeliveryFilter;
  readonly order: DeliveryOrder;
  /** Only what comes after this place; null begins. */
  readonly after: SearchPlace | null;
  readonly limit: number;
  readonly budget: SearchBudget;
}

/** Null leaves a filter out; a list holds what is accepted, and an empty one accepts nothing. */
export interface DeliveryFilter {
  /** With a tenant set, rows of others do not exist. */
  readonly tenantId: string | null;
  readonly webhookIds: readonly string[] | null;
  readonly eventId: string | null;
  /** Patterns of core/event-type.ts. */
  readonly eventTypes: readonly string[] | null;
  readonly states: readonly DeliveryState[] | null;
  readonly categories: readonly FailureCategory[] | null;
  readonly httpStatuses: HttpStatusFilter | null;
  readonly origins: readonly DeliveryOrigin[] | null;
  readonly attemptMin: number | null;
  /** Text in the error message or in the sample of the response of the last attempt; capital letters do not count. */
  readonly errorText: string | null;
  /** Of the newest event that was published with this key, by each tenant. */
  readonly idempotencyKey: string | null;
  /** Of events that a source of the gateway stored, which their keys tell; absent in what an earlier version stored. */
  readonly sourceId?: string | null;
  /** By creation time, Unix milliseconds, both inclusive. */
  readonly from: number | null;
  readonly to: number | null;
}

/** Leaves nothing out. */
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

/** A question about events, newest first; answered as `DeliverySearch` is. */
export interface EventSearch {
  readonly filter: EventFilter;
  readonly after: SearchPlace | null;
  readonly limit: number;
  readonly budget: SearchBudget;
}

/** Null leaves a filter out. */
export interface EventFilter {
  /** With a tenant set, rows of others do not exist. */
  readonly tenantId: string | null;
  /** Patterns of core/event-type.ts. */
  readonly eventTypes: readonly string[] | null;
  readonly source: string | null;
  /** The newest event that was published with this key, by each tenant. */
  readonly idempotencyKey: string | null;
  /** Whether nobody got a delivery of it. */
  readonly unmatched: boolean | null;
  /** Text in what was published, byte for byte. */
  readonly dataContains: string | null;
  /** By time of acceptance, Unix milliseconds, both inclusive. */
  readonly from: number | null;
  readonly to: number | null;
}

/** Leaves nothing out. */
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

/** By the status that the last attempt got. */
export interface HttpStatusFilter {
  readonly codes: readonly number[];
  /** First digits: 5 is 500 to 599. */
  readonly classes: readonly number[];
  /** An attempt was made, and no answer came. */
  readonly none: boolean;
}

/** The last row of a page. */
export interface SearchPlace {
  readonly position: number;
  /** Of that row, where rows are in the order of their next attempts. */
  readonly dueAt: number | null;
}

/** Rows in the order that was asked for, and how far the search came. */
export interface SearchPage<Row, Place = SearchPlace> {
  readonly rows: readonly Row[];
  /** Where to go on; null when nothing is left to look at. */
  readonly next: Place | null;
  /** Creation time of the last row that was looked at; null when all were, or in the order of next attempts. */
  readonly searchedTo: number | null;
  /** The page is not full, because its budget was used up: more may match. */
  readonly isCutShort: boolean;
}

/**
 * Of what waits, a search looks at no more than this many by themselves: in the order of next attempts that is all it
 * knows, otherwise it walks through the history from there on.
 */
export const waitingLookedMax = 10_000;

/** Clocks of machines differ by less, and so does the time that a commit takes: rows are in the order of time but for that. */
export const clocksDifferMs = 60_000;
