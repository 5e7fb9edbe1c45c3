import type {
  AttemptRecord,
  DeliveryOrigin,
  DeliveryProgress,
  DeliveryRetry,
  DeliveryState,
  Priority,
} from "../../core/delivery.ts";
import type { PublishedEvent } from "../../core/event.ts";
import type { FailureCategory } from "../../core/outcome.ts";
import type { PayloadFormatName } from "../../core/profile.ts";
import type { LaneKey } from "../../core/webhook.ts";
import type { Page, PageRequest } from "../store.ts";
import type { DeliverySearch, EventSearch, SearchPage } from "./search.ts";

/**
 * Reads for people: what was published and what became of it. `tenantId: null` means every tenant (an admin key); with
 * a tenant set, rows of others do not exist. `from` and `to` are creation times, both inclusive. Searches answer within
 * their budget. The other lists look until the page is full, because programs work through them; a rare filter over a
 * long history may take long, but never holds up deliveries.
 */
export interface HistoryStore {
  getEvent(query: { readonly tenantId: string | null; readonly id: string }): Promise<StoredEvent | null>;
  searchEvents(search: EventSearch): Promise<SearchPage<EventSummary>>;
  getDelivery(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<StoredDelivery | null>;
  /** Of these ids, 250 at most, those that exist; in no order. */
  getDeliveries(query: {
    readonly tenantId: string | null;
    readonly ids: readonly string[];
  }): Promise<readonly StoredDelivery[]>;
  /** Which of these events have no body any more, because retention removed it. At most a few hundred. */
  payloadsGone(eventIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Attempts of one delivery, oldest first. */
  listAttempts(deliveryId: string): Promise<readonly AttemptRecord[]>;
  /** Deliveries that this bulk operation sent again, by state; those after a position, so many at once. */
  sentByOperation(query: OperationDeliveriesQuery): Promise<OperationDeliveries>;
  listDeliveries(query: DeliveryQuery): Promise<Page<StoredDelivery>>;
  searchDeliveries(search: DeliverySearch): Promise<SearchPage<StoredDelivery>>;
  /** Exhausted deliveries, newest first. */
  listDeadLetters(query: DeadLetterQuery): Promise<Page<StoredDelivery>>;
  /** How many a dead-letter query would return, counting no further than `countMax`. */
  countDeadLetters(query: Omit<DeadLetterQuery, "page"> & { readonly countMax: number }): Promise<number>;
  countDeliveries(query: Omit<DeliveryQuery, "page"> & { readonly countMax: number }): Promise<number>;
  /** What waits of a webhook, counted no further than `countMax`; then `oldestCreatedAt` is of what was counted. */
  backlog(query: { readonly webhookId: string; readonly countMax: number }): Promise<Backlog>;
  /** How much waits of each of these webhooks, each counted no further than `countMax`; those without work are left out. */
  waitingOf(query: WaitingQuery): Promise<ReadonlyMap<string, WaitingCount>>;
  /** Attempts of a webhook executed since a time; reads at most the newest 10,000. */
  attemptStats(query: { readonly webhookId: string; readonly since: number }): Promise<AttemptStats>;
}

/** A page of the deliveries of an operation. */
export interface OperationDeliveriesQuery {
  readonly operationId: string;
  /** Null begins. */
  readonly after: number | null;
  readonly limit: number;
}

/** How many deliveries of a page are in each state; `next` is the `after` of the next page, null at the end. */
export interface OperationDeliveries {
  readonly states: Readonly<Partial<Record<DeliveryState, number>>>;
  readonly next: number | null;
}

/** An event as it is kept, with its place in listings. */
export interface StoredEvent extends PublishedEvent {
  readonly contentType: string;
  /** As in `NewEvent`. */
  readonly raw: boolean;
  /** The standard object, or the publisher's bytes when `raw`; null once retention removed it. */
  readonly body: Uint8Array | null;
  readonly position: number;
  readonly deliveries: number;
}

/** An event in a list: bodies are large. */
export type EventSummary = Omit<StoredEvent, "body">;

/** A delivery as it is kept, with its place in listings. Times are Unix milliseconds. */
export interface StoredDelivery {
  readonly id: string;
  readonly position: number;
  readonly tenantId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly priority: Priority;
  readonly lane: LaneKey;
  readonly origin: DeliveryOrigin;
  readonly progress: DeliveryProgress;
  /** Category of the last failed attempt. */
  readonly category: FailureCategory | null;
  /** It waits for a retry, and the Retry-After of its last attempt decided until when. */
  readonly retryAfterHolds: boolean;
  readonly completedAt: number | null;
  /** Manual retries, oldest first; the newest 20 are kept. */
  readonly retries: readonly DeliveryRetry[];
  /** The delivery that this replay copies; null where it is no copy. */
  readonly replayOf: string | null;
  /** The newest replay of it. */
  readonly replayedBy: string | null;
  /** How its body is written, fixed when it was made. */
  readonly format: PayloadFormatName;
  /** Null before the first, and where it was removed. */
  readonly lastAttempt: AttemptRecord | null;
}

/** Deliveries by webhook, event, state and time; null leaves a filter out. */
export interface DeliveryQuery {
  readonly tenantId: string | null;
  readonly webhookId: string | null;
  readonly eventId: string | null;
  readonly states: readonly DeliveryState[] | null;
  /** By creation time, Unix milliseconds. */
  readonly from: number | null;
  readonly to: number | null;
  readonly page: PageRequest;
}

/** Dead letters by webhook, type, category and time; null leaves a filter out. */
export interface DeadLetterQuery {
  readonly tenantId: string | null;
  readonly webhookIds: readonly string[] | null;
  readonly eventTypes: readonly string[] | null;
  readonly categories: readonly FailureCategory[] | null;
  readonly from: number | null;
  readonly to: number | null;
  readonly page: PageRequest;
}

/** Deliveries of a webhook that wait, requests in flight included. */
export interface Backlog {
  readonly waiting: Readonly<Record<Priority, number>>;
  /** More than were counted. */
  readonly isMore: boolean;
  /** Unix milliseconds; null when nothing waits. */
  readonly oldestCreatedAt: number | null;
}

/** What waits for each of these webhooks, counted to `countMax`. */
export interface WaitingQuery {
  readonly webhookIds: readonly string[];
  readonly countMax: number;
}

/** Deliveries of a webhook that wait, of all priorities. */
export interface WaitingCount {
  readonly total: number;
  /** More than were counted. */
  readonly isMore: boolean;
  /** Unix milliseconds; of what was stored first among those that were counted. */
  readonly oldestCreatedAt: number;
}

/** Counts and durations of recent attempts; percentiles are null without attempts. */
export interface AttemptStats {
  readonly total: number;
  readonly accepted: number;
  readonly transient: number;
  readonly terminal: number;
  readonly byCategory: Readonly<Partial<Record<FailureCategory, number>>>;
  readonly durationMsP50: number | null;
  readonly durationMsP95: number | null;
  readonly lastAttemptAt: number | null;
}
