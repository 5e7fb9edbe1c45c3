import type {
  AttemptRecord,
  DeliveryOrigin,
  DeliveryProgress,
  DeliveryRetry,
  GivenUpState,
  Priority,
  SkipReason,
  WaitingState,
} from "../../core/delivery.ts";
import type { OperationalEvent } from "../../core/notifications/operational-event.ts";
import type { PayloadFormatName } from "../../core/profile.ts";
import type { Relayed } from "../../core/gateway/relayed.ts";
import type { TraceContext } from "../../core/tracing/trace-context.ts";
import type { LaneKey } from "../../core/webhook.ts";
import type { WebhookHistoryEntry } from "../../core/webhook-history.ts";
import type { ProblemMove } from "../../core/delivery-problems/delivery-problem.ts";
import type { AnswerCompletion, ReceivedRequest } from "./gateway.ts";
import type { ProblemBatch } from "./delivery-problems.ts";
import type { StatisticsBatch } from "./statistics.ts";

/**
 * The path of an event: everything here is called under load and takes batches.
 *
 * A delivery that waits is free or leased. A lease is taken by `claim`, or by `commit` for deliveries it just wrote
 * (`claim: true`), and ends with a settlement, with `release`, or when it runs out. Only the holder of the newest lease
 * token can settle, so a worker that lost its lease cannot overwrite the result of another one.
 *
 * A delivery may be ended over the head of its holder: by `cancelWebhook`, or, when its lease ran out, by `expire` and by
 * `end`. Nobody else took the lease, so its holder still reports, once, what came of its request: the store answers `ended`
 * with where the delivery stands, and takes a settlement from there (`late`). A manual retry takes every earlier lease away.
 *
 * Where several processes share a store, an ordered lane is in the hands of one of them at a time: while it holds a
 * lease there, the others get nothing of the lane. What a process held when it died is free when its leases run out.
 */
export interface DeliveryStore {
  /**
   * Writes the whole batch in one transaction, in the order publishes, requeues, retries, settlements, webhook states,
   * operational events. An empty one asks whether the store can write at all.
   */
  commit(batch: CommitBatch): Promise<CommitResult>;
  /**
   * Writes the next part of an event whose deliveries did not fit into its first transaction (`later`), in a transaction
   * of its own; null when none is left. Any process may call it, also at the same time as others and after a crash.
   */
  fanOut(): Promise<FanOutPart | null>;
  /** Leases waiting deliveries of each lane asked for. Cost is bound by what is returned, not by the backlog. */
  claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]>;
  /**
   * Ends deliveries as a person asked, each at most once, in one transaction: cancels what waits and nobody holds, or
   * discards dead letters. Answers in the order of the ids.
   */
  end(command: EndCommand): Promise<readonly EndResult[]>;
  /** Gives leases back without a settlement. */
  release(leases: readonly Lease[]): Promise<void>;
  /** Lanes that hold waiting deliveries, in a stable order, a page at a time. */
  lanesWithWork(page: { readonly after: string | null; readonly limit: number }): Promise<LanePage>;
  /** When the first free delivery of these lanes is, or was, due, Unix milliseconds; null where all are leased or gone. */
  oldestDue(lanes: readonly LaneKey[]): Promise<number | null>;
  /** Waiting deliveries by priority, and dead letters by tenant; kept as counters, not counted. */
  depth(): Promise<StoreDepth>;
}

/** Everything that goes into one transaction; empty lists are fine. */
export interface CommitBatch {
  readonly publishes: readonly PublishCommand[];
  readonly requeues: readonly RequeueCommand[];
  readonly retries: readonly RetryCommand[];
  readonly settlements: readonly Settlement[];
  readonly webhookStates: readonly WebhookRuntimeState[];
  /** What is to be told of it (notifications.ts); absent where nothing is. */
  readonly operationalEvents?: readonly OperationalEvent[];
  /** What is counted of it, and buckets that are due; absent where nothing is counted. */
  readonly statistics?: StatisticsBatch;
  /** What it says of problems; absent where nothing failed or recovered. */
  readonly problems?: ProblemBatch;
}

/** What became of each command of a batch. */
export interface CommitResult {
  /** In the order of the commands. */
  readonly publishes: readonly PublishResult[];
  readonly requeues: readonly RequeueResult[];
  readonly retries: readonly RetryResult[];
  readonly settled: readonly SettlementResult[];
  /** Problems that opened or were resolved by it; absent where none did. */
  readonly problemMoves?: readonly ProblemMove[];
}

/**
 * `lost`: somebody else has the lease, or had it. `ended`: the delivery was ended over the head of the holder, and
 * stands at `progress`; nothing was written.
 */
export type SettlementResult =
  | { readonly kind: "written" }
  | { readonly kind: "lost" }
  | { readonly kind: "ended"; readonly progress: DeliveryProgress<GivenUpState> };

/**
 * One event with the deliveries it causes. Stored whole or, as a duplicate, not at all: what is in `later` is stored as a
 * draft, and `fanOut` makes rows of it.
 */
export interface PublishCommand {
  readonly event: NewEvent;
  readonly deliveries: readonly NewDelivery[];
  /** None of an ordered lane, and none to claim: a younger event would overtake it. Absent for nearly every event. */
  readonly later?: readonly NewDelivery[];
  /** When set, the event's key is remembered until this time (TS16, WDS-115: 24 h per tenant). */
  readonly dedupUntil: number | null;
  /** What the gateway's log says of the request that brought it; written, or replaced, with an event that is stored. */
  readonly request?: ReceivedRequest;
  /** What became of its deliveries, in their order, where they were made before: settled in the same transaction. */
  readonly attempted?: readonly AttemptedDelivery[];
  /** As `finish` of the gateway's answers, with an event that is stored. */
  readonly answer?: AnswerCompletion;
}

/** Rows that were written later than their event. */
export interface FanOutPart {
  readonly deliveries: readonly NewDelivery[];
}

/** Deliveries that one transaction writes of an event at most, ordered ones aside. */
export const fanOutRows = 2_048;

/** A delivery that was made while its event was not stored yet. It is leased as it is written, and so in no ordered lane. */
export type AttemptedDelivery = Pick<Settlement, "progress" | "attempt" | "settledAt">;

/** An event to store. Times are Unix milliseconds. */
export interface NewEvent {
  readonly id: string;
  readonly tenantId: string;
  readonly eventType: string;
  readonly timestamp: number;
  readonly source: string | null;
  readonly idempotencyKey: string | null;
  /** SHA-256 of what was published, to tell a repeat from a reuse of the key; null without a key. */
  readonly fingerprint: string | null;
  readonly priority: Priority;
  readonly createdAt: number;
  readonly contentType: string;
  /** The body is the publisher's own bytes of any media type, not the standard object around JSON `data`. */
  readonly raw: boolean;
  /** The standard object, or the publisher's bytes. Every payload format is rendered from these. */
  readonly body: Uint8Array;
  /** Where in its publisher's trace it was published; null without one. */
  readonly trace: TraceContext | null;
  /** Of the request that brought it through the gateway; null for what was published. */
  readonly relayed: Relayed | null;
}

/** A delivery to store, waiting or skipped. Times are Unix milliseconds. */
export interface NewDelivery {
  readonly id: string;
  readonly lane: LaneKey;
  readonly priority: Priority;
  readonly state: "pending" | "skipped";
  /** Why it is skipped; null for what waits. */
  readonly reason: SkipReason | null;
  readonly dueAt: number;
  readonly createdAt: number;
  readonly origin: DeliveryOrigin;
  /**
   * Fixed with the delivery, so that a change of its webhook's profile cannot change a message between attempts. A manual
   * retry takes that of the webhook as it is then.
   */
  readonly format: PayloadFormatName;
  /**
   * Lease it to the caller at once, until `leaseUntil`. A store that processes share may refuse in an ordered lane
   * (lease token 0), because something waits there that the caller does not hold; the delivery then waits like the
   * others.
   */
  readonly claim: boolean;
  readonly leaseUntil: number;
}

/** Stored, seen before, or refused because the key stands for something else. */
export type PublishResult =
  | {
      readonly kind: "accepted";
      readonly sequenceNumber: number;
      /** Of each new delivery, in order; lease token 0 where it was not claimed. */
      readonly leases: readonly Lease[];
    }
  | { readonly kind: "duplicate"; readonly original: DuplicateOriginal }
  /** The key was used for another payload. */
  | { readonly kind: "key_conflict"; readonly eventId: string };

/** The event that was published first with this key, as it was answered then. */
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

/** A copy: a new delivery of an event to a webhook, beside the one that it copies. */
export interface Replay extends NewDelivery {
  /** The delivery that it copies; null where the event had none for this webhook. */
  readonly replayOf: string | null;
  /** The bulk operation that it is part of. */
  readonly operationId: string | null;
}

/** Stored, or why nothing was. */
export type RequeueResult =
  | { readonly kind: "accepted"; readonly leases: readonly Lease[] }
  | { readonly kind: "event_not_found" }
  | { readonly kind: "payload_gone" };

/**
 * A manual retry: the delivery waits again, due at once, with its id and its attempts. One that waits keeps its place in an
 * ordered lane; one that had ended goes behind everything that waits there.
 */
export interface RetryCommand {
  readonly deliveryId: string;
  /** Where it waits, and how its body is written: as its webhook is now. */
  readonly lane: LaneKey;
  readonly format: PayloadFormatName;
  /** Null keeps the priority. */
  readonly priority: Priority | null;
  readonly retry: Omit<DeliveryRetry, "attemptCount">;
}

/**
 * `accepted`: it waits, due at `retry.at` or before; one that was due already keeps its place, and only an operation is noted. `in_flight`: somebody holds it. `not_possible`: it succeeded, which only
 * a replay repeats.
 */
export type RetryResult =
  | { readonly kind: "accepted"; readonly priority: Priority }
  | { readonly kind: "in_flight" }
  | { readonly kind: "not_possible" }
  | { readonly kind: "not_found" }
  | { readonly kind: "payload_gone" };

/** The store ends deliveries by itself. */
export interface CountedEnding {
  /** In the same transaction statistics count them. */
  readonly isCounted?: boolean;
}

/** At most a few hundred ids. With a tenant set, rows of others do not exist. */
export interface EndCommand extends CountedEnding {
  readonly event: "cancel_requested" | "discarded";
  readonly tenantId: string | null;
  readonly ids: readonly string[];
  readonly now: number;
}

/** `in_flight`: somebody holds it. `not_possible`: it does not wait, or is no dead letter (any more). */
export type EndResult = "ended" | "in_flight" | "not_possible" | "not_found";

/**
 * The right to settle one delivery. `ref` is the adapter's own handle; a higher lease token replaces a lower one. It
 * holds for this delivery alone: a store that was restored may have given the same handle to another one, which it does
 * not settle.
 */
export interface Lease {
  readonly ref: number;
  readonly deliveryId: string;
  readonly leaseToken: number;
}

/** The result of one attempt, or of an event without a request (expired, payload gone). */
export interface Settlement {
  readonly lease: Lease;
  readonly progress: DeliveryProgress;
  readonly attempt: AttemptRecord | null;
  /** When the result was known; `completedAt` of a delivery that ends with it. */
  readonly settledAt: number;
  /** Goes on from the progress that the store answered as `ended`. A success takes the dead letter out of its queue. */
  readonly late?: true;
}

/** What is remembered of a webhook between restarts, beside its configuration. */
export interface WebhookRuntimeState {
  readonly webhookId: string;
  readonly pausedUntil: number | null;
  readonly pauseReason: string | null;
  readonly lastSuccessAt: number | null;
  /** Opaque JSON of the circuit breaker and of the endpoint's health. */
  readonly circuit: string | null;
  readonly health: string | null;
  /** Of its circuit, since it was written last: go into the history of the webhook, each once. */
  readonly moves?: readonly WebhookHistoryEntry[];
  /** Of the owner that writes it (ownership.ts): an older owner writes nothing. Absent with one owner. */
  readonly ownerEpoch?: number;
}

/** How much of one lane to lease. Times are Unix milliseconds. */
export interface ClaimRequest {
  readonly lane: LaneKey;
  readonly now: number;
  readonly limit: number;
  /** Stops once this many body bytes were read; at least one delivery is returned when one is due. */
  readonly bodyBytesMax: number;
  readonly leaseUntil: number;
}

/**
 * Lanes without order: due deliveries, high priority first, then by due time. Ordered lanes: the oldest deliveries by
 * publish order, due or not, because the head decides when the lane may go on.
 */
export interface ClaimResult {
  readonly deliveries: readonly ClaimedDelivery[];
  /** Per priority: free deliveries are left that the caller may claim now. */
  readonly more: Readonly<Record<Priority, boolean>>;
  /**
   * When the earliest free delivery of the lane that is not due yet will be; null when there is none. In ordered lanes
   * only the oldest free delivery counts, since it holds up the rest.
   *
   * When nothing is left to claim now and another process holds leases in the lane, it is no later than the end of the
   * first of these: what a dead process held must be claimed by somebody. The caller's own leases do not count.
   */
  readonly nextDueAt: number | null;
}

/**
 * A leased delivery with everything an attempt needs, so that no other read follows. Whose it is, is read from the rows
 * themselves: the three say different things when the store, or what was remembered of it, is wrong.
 */
export interface ClaimedDelivery {
  readonly lease: Lease;
  readonly id: string;
  /** The webhook that the delivery is stored for; not taken from the lane that was asked for. */
  readonly webhookId: string;
  /** The tenant of that webhook; null when no such webhook is stored. */
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
  /** As published; `priority` is this delivery's. */
  readonly eventPriority: Priority;
  /** The event's number within its tenant. */
  readonly sequenceNumber: number;
  readonly contentType: string;
  readonly raw: boolean;
  /** As in `NewEvent`. Null when retention removed it. */
  readonly body: Uint8Array | null;
  readonly trace: TraceContext | null;
  /** Of the request that brought it through the gateway; null for what was published. */
  readonly relayed: Relayed | null;
}

/** Names of lanes; `next` is the `after` of the next page, null at the end. */
export interface LanePage {
  readonly lanes: readonly LaneKey[];
  readonly next: string | null;
}

/** How much waits and how much is dead-lettered; tenants without dead letters may be missing. */
export interface StoreDepth {
  readonly waiting: Readonly<Record<Priority, number>>;
  readonly deadLetters: ReadonlyMap<string, number>;
}
