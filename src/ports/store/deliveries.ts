import type {
  AttemptRecord,
  DeliveryOrigin,
  DeliveryProgress,
  DeliveryRetry,
  GivenUpState,
  Priority,
  SkipReason,
  WaitingState,
} from "../../domain/delivery.ts";
import type { OperationalEvent } from "../../features/notifications/operational-event.ts";
import type { PayloadFormatName } from "../../domain/profile.ts";
import type { Relayed } from "../../features/gateway/relayed.ts";
import type { TraceContext } from "../../domain/tracing/trace-context.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import type { WebhookHistoryEntry } from "../../domain/webhook-history.ts";
import type { ProblemMove } from "../../features/problems/problem.ts";
import type { AnswerCompletion, ReceivedRequest } from "./gateway.ts";
import type { ProblemBatch } from "./delivery-problems.ts";
import type { StatisticsBatch } from "./statistics.ts";

/**
 * The event path. Every method is called under load and takes batches.
 *
 * A waiting delivery is unleased or leased. A lease is taken by `claim`, or by `commit` for deliveries that it just
 * wrote (`claim: true`). It ends with a settlement, with `release`, or when it expires. Only the newest lease token
 * can settle, so a worker that lost its lease cannot overwrite the result of another worker.
 *
 * `cancelWebhook` may end a delivery while it is leased; `expire` and `end` may do so once the lease has expired. No
 * other worker took the lease, so its owner still reports the result of its request once: the store returns `ended`
 * with the state of the delivery, and accepts a settlement based on that state (`late`). A manual retry voids all
 * earlier leases.
 *
 * If several processes share a store, one of them at a time holds an ordered lane: while it holds a lease there, the
 * others get nothing from the lane. The leases of a dead process expire.
 */
export interface DeliveryStore {
  /**
   * Writes the whole batch in one transaction, in this order: publishes, requeues, retries, settlements, webhook
   * states, operational events. An empty batch checks whether the store accepts writes.
   */
  commit(batch: CommitBatch): Promise<CommitResult>;
  /**
   * Writes the next part of an event whose deliveries did not fit into its first transaction (`later`), in a separate
   * transaction. Returns null if all parts have been written. Any process may call it, concurrently and after a crash.
   */
  fanOut(): Promise<FanOutPart | null>;
  /**
   * Leases waiting deliveries of each requested lane. The cost depends on the size of the result, not on the backlog.
   */
  claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]>;
  /**
   * Ends deliveries at a user's request, in one transaction: cancels waiting deliveries that are not leased, or
   * discards dead letters. Each delivery is ended only once. Results are in the order of the IDs.
   */
  end(command: EndCommand): Promise<readonly EndResult[]>;
  /** Returns leases without a settlement. */
  release(leases: readonly Lease[]): Promise<void>;
  /** Lanes with waiting deliveries, in a stable order, one page at a time. */
  lanesWithWork(after: string | null, limit: number): Promise<LanePage>;
  /**
   * Earliest due time of the unleased deliveries of these lanes, Unix milliseconds; null if these lanes have no
   * unleased deliveries.
   */
  oldestDue(lanes: readonly LaneKey[]): Promise<number | null>;
  /**
   * Number of waiting deliveries by priority, and of dead letters by tenant. The numbers come from counters; rows are
   * not counted.
   */
  depth(): Promise<StoreDepth>;
}

/** The content of one transaction; lists may be empty. */
export interface CommitBatch {
  readonly publishes: readonly PublishCommand[];
  readonly requeues: readonly RequeueCommand[];
  readonly retries: readonly RetryCommand[];
  readonly settlements: readonly Settlement[];
  readonly webhookStates: readonly WebhookRuntimeState[];
  /** Operational events of this batch (notifications.ts); absent if there are none. */
  readonly operationalEvents?: readonly OperationalEvent[];
  /** Statistics of this batch, and buckets that are due; absent if nothing is counted. */
  readonly statistics?: StatisticsBatch;
  /** Changes to delivery problems in this batch; absent if nothing failed or recovered. */
  readonly problems?: ProblemBatch;
}

/** The results of the commands of a batch. */
export interface CommitResult {
  /** In the order of the commands. */
  readonly publishes: readonly PublishResult[];
  readonly requeues: readonly RequeueResult[];
  readonly retries: readonly RetryResult[];
  readonly settled: readonly SettlementResult[];
  /** Problems that this batch opened or resolved; absent if there are none. */
  readonly problemMoves?: readonly ProblemMove[];
}

/**
 * `lost`: another worker has or had the lease. `ended`: the delivery was ended while it was leased; `progress` is its
 * state. In both cases nothing was written.
 */
export type SettlementResult =
  | { readonly kind: "written" }
  | { readonly kind: "lost" }
  | { readonly kind: "ended"; readonly progress: DeliveryProgress<GivenUpState> };

/**
 * One event with its deliveries. The event is stored completely or, if it is a duplicate, not at all. The deliveries in
 * `later` are first stored as a draft, which `fanOut` turns into rows.
 */
export interface PublishCommand {
  readonly event: NewEvent;
  readonly deliveries: readonly NewDelivery[];
  /**
   * Deliveries to write after the event. Must not contain deliveries of ordered lanes, which a younger event could
   * overtake, or deliveries to claim. Usually absent.
   */
  readonly later?: readonly NewDelivery[];
  /** Maximum number of `later` deliveries in one part; `fanOutRows` by default. */
  readonly partRows?: number;
  /** If set, the event's key is remembered until this time (TS16, WDS-115: 24 h per tenant). */
  readonly dedupUntil: number | null;
  /**
   * The gateway's log entry for the request that contained the event. If the event is stored, the entry is written or
   * replaced.
   */
  readonly request?: ReceivedRequest;
  /**
   * Results of deliveries that were attempted before the event was stored, in order. They are settled in the same
   * transaction.
   */
  readonly attempted?: readonly AttemptedDelivery[];
  /** The response to store for repeats, like the argument of the gateway's `finish`. Written if the event is stored. */
  readonly answer?: AnswerCompletion;
}

/** Deliveries that were written after their event. */
export interface FanOutPart {
  readonly deliveries: readonly NewDelivery[];
}

/** Maximum number of deliveries of an event that one transaction writes, excluding those in ordered lanes. */
export const fanOutRows = 2_048;

/**
 * A delivery that was attempted before its event was stored. It is leased on insert, so it is never in an ordered lane.
 */
export type AttemptedDelivery = Pick<Settlement, "progress" | "attempt" | "settledAt">;

/** An event to store. Times are Unix milliseconds. */
export interface NewEvent {
  readonly id: string;
  readonly tenantId: string;
  readonly eventType: string;
  readonly timestamp: number;
  readonly source: string | null;
  readonly idempotencyKey: string | null;
  /**
   * SHA-256 of the published content, which distinguishes a repeat from a different use of the key; null without a key.
   */
  readonly fingerprint: string | null;
  readonly priority: Priority;
  readonly createdAt: number;
  readonly contentType: string;
  /**
   * Whether the body contains the publisher's own bytes, with any media type, instead of the standard object around
   * JSON `data`.
   */
  readonly raw: boolean;
  /** The standard object, or the publisher's bytes. All payload formats are rendered from it. */
  readonly body: Uint8Array;
  /** Trace context of the publish call; null without one. */
  readonly trace: TraceContext | null;
  /** Data about the gateway request behind the event; null for published events. */
  readonly relayed: Relayed | null;
}

/** A delivery to store, waiting or skipped. Times are Unix milliseconds. */
export interface NewDelivery {
  readonly id: string;
  readonly lane: LaneKey;
  readonly priority: Priority;
  readonly state: "pending" | "skipped";
  /** Why the delivery is skipped; null for waiting deliveries. */
  readonly reason: SkipReason | null;
  readonly dueAt: number;
  readonly createdAt: number;
  readonly origin: DeliveryOrigin;
  /**
   * Fixed when the delivery is created, so that a profile change cannot change a message between attempts. A manual
   * retry uses the current format of the webhook.
   */
  readonly format: PayloadFormatName;
  /**
   * Whether to lease the delivery to the caller immediately, until `leaseUntil`. In an ordered lane, a shared store may
   * refuse (lease token 0) because a delivery that the caller has not leased waits there. The new delivery then waits
   * like the others.
   */
  readonly claim: boolean;
  readonly leaseUntil: number;
}

/** The event was stored, it is a duplicate, or it was refused because its key was used for a different payload. */
export type PublishResult =
  | {
      readonly kind: "accepted";
      readonly sequenceNumber: number;
      /** One lease per new delivery, in order; lease token 0 if it was not claimed. */
      readonly leases: readonly Lease[];
    }
  | { readonly kind: "duplicate"; readonly original: DuplicateOriginal }
  /** The key was used for another payload. */
  | { readonly kind: "key_conflict"; readonly eventId: string };

/** The first event published with this key, as in its original result. */
export interface DuplicateOriginal {
  readonly id: string;
  readonly eventType: string;
  readonly timestamp: number;
  readonly sequenceNumber: number;
  readonly deliveries: number;
}

/** New deliveries of an event that is already stored: a replay. */
export interface RequeueCommand {
  readonly eventId: string;
  readonly deliveries: readonly Replay[];
}

/** A new delivery of a stored event to a webhook. */
export interface Replay extends NewDelivery {
  /** The delivery that this one copies; null if the event had none for this webhook. */
  readonly replayOf: string | null;
  /** The bulk operation that created the delivery. */
  readonly operationId: string | null;
}

/** The delivery was stored, or why it was not. */
export type RequeueResult =
  | { readonly kind: "accepted"; readonly leases: readonly Lease[] }
  | { readonly kind: "event_not_found" }
  | { readonly kind: "payload_gone" };

/**
 * A manual retry. The delivery waits again, is due immediately, and keeps its ID and its attempts. A waiting delivery
 * keeps its position in an ordered lane; a completed delivery moves to the end of the lane.
 */
export interface RetryCommand {
  readonly deliveryId: string;
  /** The lane and format according to the current configuration of the webhook. */
  readonly lane: LaneKey;
  readonly format: PayloadFormatName;
  /** Null keeps the current priority. */
  readonly priority: Priority | null;
  readonly retry: Omit<DeliveryRetry, "attemptCount">;
}

/**
 * `accepted`: the delivery waits and is due at `retry.at` or earlier. If it was already due, it keeps its position, and
 * only its bulk operation is recorded. `in_flight`: the delivery is leased. `not_possible`: the delivery succeeded, so
 * only a replay can send it again.
 */
export type RetryResult =
  | { readonly kind: "accepted"; readonly priority: Priority }
  | { readonly kind: "in_flight" }
  | { readonly kind: "not_possible" }
  | { readonly kind: "not_found" }
  | { readonly kind: "payload_gone" };

/** A command with which the store itself ends deliveries. */
export interface CountedEnding {
  /** Whether statistics count the deliveries in the same transaction. */
  readonly isCounted?: boolean;
}

/** The number of IDs is limited to a few hundred. If a tenant is set, rows of other tenants are invisible. */
export interface EndCommand extends CountedEnding {
  readonly event: "cancel_requested" | "discarded";
  readonly tenantId: string | null;
  readonly ids: readonly string[];
  readonly now: number;
}

/**
 * `in_flight`: the delivery is leased. `not_possible`: the delivery is not (or no longer) waiting, or not (or no
 * longer) a dead letter.
 */
export type EndResult = "ended" | "in_flight" | "not_possible" | "not_found";

/**
 * The right to settle one delivery. `ref` is the adapter's internal handle. A higher lease token replaces a lower one.
 * A restored store may reuse a handle for another delivery; an old lease cannot settle that delivery.
 */
export interface Lease {
  readonly ref: number;
  readonly deliveryId: string;
  readonly leaseToken: number;
}

/**
 * The result of one attempt, or of a delivery that ended without a request (it expired, or its payload was removed).
 */
export interface Settlement {
  readonly lease: Lease;
  readonly progress: DeliveryProgress;
  readonly attempt: AttemptRecord | null;
  /** When the result became known. Also used as `completedAt` if the delivery ends with it. */
  readonly settledAt: number;
  /**
   * Set if the settlement continues from the progress that the store returned with `ended`. A success removes the
   * delivery from the dead letters.
   */
  readonly late?: true;
}

/** The runtime state of a webhook that survives restarts, separate from its configuration. */
export interface WebhookRuntimeState {
  readonly webhookId: string;
  readonly pausedUntil: number | null;
  readonly pauseReason: string | null;
  readonly lastSuccessAt: number | null;
  /** Opaque JSON of the circuit breaker and of the endpoint's health. */
  readonly circuit: string | null;
  readonly health: string | null;
  /** Circuit transitions since the last write. Each is added to the history of the webhook only once. */
  readonly moves?: readonly WebhookHistoryEntry[];
  /**
   * Epoch of the owner that writes the state (ownership.ts). Writes of an older owner are ignored. Absent if there is
   * only one owner.
   */
  readonly ownerEpoch?: number;
}

/** How much of one lane to lease. Times are Unix milliseconds. */
export interface ClaimRequest {
  readonly lane: LaneKey;
  readonly now: number;
  readonly limit: number;
  /** The claim stops once this many body bytes have been read. If a delivery is due, at least one is returned. */
  readonly bodyBytesMax: number;
  readonly leaseUntil: number;
}

/**
 * For unordered lanes: due deliveries, high priority first, then by due time. For ordered lanes: the oldest deliveries
 * in publish order, whether due or not, because the head determines when the lane may continue.
 */
export interface ClaimResult {
  readonly deliveries: readonly ClaimedDelivery[];
  /** By priority: whether more unleased deliveries can be claimed now. */
  readonly more: Readonly<Record<Priority, boolean>>;
  /**
   * Earliest future due time of an unleased delivery in the lane; null if there is none. In ordered lanes only the
   * oldest unleased delivery counts, since it blocks the rest.
   *
   * If nothing can be claimed now and another process holds leases in the lane, the time is no later than the first
   * expiry of these leases, because deliveries of a dead process must be claimed again. The caller's own leases do
   * not count.
   */
  readonly nextDueAt: number | null;
}

/**
 * A leased delivery with everything that an attempt needs, without further reads. The three owner fields are read from
 * separate rows. If they disagree, the store or a cached copy of it is wrong.
 */
export interface ClaimedDelivery {
  readonly lease: Lease;
  readonly id: string;
  /** The webhook for which the delivery is stored. Not copied from the requested lane. */
  readonly webhookId: string;
  /** The tenant of that webhook; null if the webhook is not stored. */
  readonly webhookTenantId: string | null;
  /** The tenant of the event. */
  readonly tenantId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly priority: Priority;
  readonly progress: DeliveryProgress<WaitingState>;
  readonly format: PayloadFormatName;
  /** When the event happened. */
  readonly timestamp: number;
  readonly source: string | null;
  readonly idempotencyKey: string | null;
  /** The priority with which the event was published; `priority` is that of the delivery. */
  readonly eventPriority: Priority;
  /** The sequence number of the event within its tenant. */
  readonly sequenceNumber: number;
  readonly contentType: string;
  readonly raw: boolean;
  /** As in `NewEvent`. Null if retention removed the body. */
  readonly body: Uint8Array | null;
  readonly trace: TraceContext | null;
  /** Data about the gateway request behind the event; null for published events. */
  readonly relayed: Relayed | null;
}

/** A page of lanes; `next` is the `after` of the next page, null at the end. */
export interface LanePage {
  readonly lanes: readonly LaneKey[];
  readonly next: string | null;
}

/** Waiting deliveries and dead letters; tenants without dead letters may be missing. */
export interface StoreDepth {
  readonly waiting: Readonly<Record<Priority, number>>;
  readonly deadLetters: ReadonlyMap<string, number>;
}
