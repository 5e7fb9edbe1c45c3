import type {
  AttemptRecord,
  DeliveryOrigin,
  DeliveryProgress,
  DeliveryRetry,
  DeliveryState,
  Priority,
} from "../../domain/delivery.ts";
import type { PublishedEvent } from "../../domain/event-type.ts";
import type { FailureCategory } from "../../domain/classify.ts";
import type { PayloadFormatName } from "../../domain/profile.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import type { DeliveryFilter, DeliverySearch, EventSearch, SearchPage } from "./search.ts";

/**
 * Reads for people: published events and their deliveries. `tenantId: null` means every tenant (an admin key); with a
 * tenant set, rows of other tenants are invisible. Searches end when their budget is spent. With `unlimitedBudget` they
 * fill the page; a rare filter over a long history may then take long, but never blocks deliveries.
 */
export interface HistoryStore {
  getEvent(tenantId: string | null, id: string): Promise<StoredEvent | null>;
  searchEvents(search: EventSearch): Promise<SearchPage<EventSummary>>;
  getDelivery(tenantId: string | null, id: string): Promise<StoredDelivery | null>;
  /** The existing deliveries among these IDs (at most 250), in no particular order. */
  getDeliveries(tenantId: string | null, ids: readonly string[]): Promise<readonly StoredDelivery[]>;
  /** Which of these events (at most a few hundred) have lost their body to retention. */
  payloadsGone(eventIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Attempts of one delivery, oldest first. */
  listAttempts(deliveryId: string): Promise<readonly AttemptRecord[]>;
  /** The deliveries that this bulk operation sent again, counted by state, one page at a time. */
  sentByOperation(query: OperationDeliveriesQuery): Promise<OperationDeliveries>;
  searchDeliveries(search: DeliverySearch): Promise<SearchPage<StoredDelivery>>;
  /** Number of results, counted up to `countMax`. May take long, but never blocks deliveries. */
  countDeliveries(filter: DeliveryFilter, countMax: number): Promise<number>;
  /**
   * Waiting deliveries of a webhook, counted up to `countMax`. `oldestCreatedAt` considers only the counted deliveries.
   */
  backlog(webhookId: string, countMax: number): Promise<Backlog>;
  /** Waiting deliveries of each webhook, counted up to `countMax`. Webhooks without waiting deliveries are omitted. */
  waitingOf(query: WaitingQuery): Promise<ReadonlyMap<string, WaitingCount>>;
  /** Attempts of a webhook after a given time. Reads up to 10,000 attempts, newest first. */
  attemptStats(webhookId: string, since: number): Promise<AttemptStats>;
}

/** A page of the deliveries of an operation. */
export interface OperationDeliveriesQuery {
  readonly operationId: string;
  /** Null starts at the beginning. */
  readonly after: number | null;
  readonly limit: number;
}

/** The number of deliveries of a page in each state. `next` is the `after` of the next page; null at the end. */
export interface OperationDeliveries {
  readonly states: Readonly<Partial<Record<DeliveryState, number>>>;
  readonly next: number | null;
}

/** A stored event with its position in listings. */
export interface StoredEvent extends PublishedEvent {
  readonly contentType: string;
  /** As in `NewEvent`. */
  readonly raw: boolean;
  /** The standard object, or the publisher's bytes if `raw`; null after retention removed it. */
  readonly body: Uint8Array | null;
  readonly position: number;
  readonly deliveries: number;
}

/** An event without its body, for lists. */
export type EventSummary = Omit<StoredEvent, "body">;

/** A stored delivery with its position in listings. Times are Unix milliseconds. */
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
  /** Whether the delivery waits for a retry whose time comes from the Retry-After of the last attempt. */
  readonly retryAfterHolds: boolean;
  readonly completedAt: number | null;
  /** Manual retries, oldest first; the newest 20 are kept. */
  readonly retries: readonly DeliveryRetry[];
  /** The delivery that this delivery replays; null if this delivery is not a replay. */
  readonly replayOf: string | null;
  /** The newest replay of this delivery. */
  readonly replayedBy: string | null;
  /** Payload format, fixed when the delivery was created. */
  readonly format: PayloadFormatName;
  /** Null before the first attempt, and if the attempt was removed. */
  readonly lastAttempt: AttemptRecord | null;
}

/** Waiting deliveries of a webhook, including those in flight. */
export interface Backlog {
  readonly waiting: Readonly<Record<Priority, number>>;
  /** Whether more deliveries wait than were counted. */
  readonly isMore: boolean;
  /** Unix milliseconds; null if no deliveries are waiting. */
  readonly oldestCreatedAt: number | null;
}

/** Webhooks whose waiting deliveries are counted, up to `countMax`. */
export interface WaitingQuery {
  readonly webhookIds: readonly string[];
  readonly countMax: number;
}

/** Waiting deliveries of a webhook, for all priorities together. */
export interface WaitingCount {
  readonly total: number;
  /** Whether more deliveries wait than were counted. */
  readonly isMore: boolean;
  /** Creation time of the oldest counted delivery, Unix milliseconds. */
  readonly oldestCreatedAt: number;
}

/** Counts and durations of recent attempts. Percentiles are null if the count is zero. */
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
