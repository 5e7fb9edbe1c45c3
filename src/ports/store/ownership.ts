import type { Priority } from "../../domain/delivery.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import type { LanePage, WebhookRuntimeState } from "./deliveries.ts";

/**
 * Which worker serves which webhook, if several processes share a store. A webhook has one owner at a time, so its
 * order, limits and circuit are kept in the memory of one process and apply to any number of workers.
 *
 * Promises:
 * - no other worker acquires an owned webhook before its owner released it or was reaped;
 * - a worker is reaped only when the store's clock has reached the end of its last heartbeat, so a worker always
 *   stops first if it counts `aliveMs` on its own monotonic clock from before it sent that heartbeat;
 * - a heartbeat of a reaped worker reports that it was reaped, however late it arrives;
 * - a new owner gets every delivery of the webhook: the leases of the last owner are void, and the store refuses its
 *   settlements and its endpoint writes;
 * - a worker that rejoins after a restart of the database keeps the webhooks that it names, if it still owns them
 *   under these owner epochs: their leases stay valid, and no other worker acquires them in between;
 * - a call that timed out and reaches the store late releases nothing that the worker has acquired since, and a
 *   lease that it takes in a webhook of another owner blocks that owner only briefly;
 * - the owner may claim the lanes that `overdue` returns: they are not blocked by a running lease or by a delivery
 *   that is not due;
 * - each call is one or two statements, regardless of the number of webhooks.
 *
 * A worker calls `join`, then `heartbeat` for as long as it lives. It acquires webhooks with `acquire`, releases
 * those that it served with `release` and the others with `keepOnly`, finds missed work with `overdue`, and ends
 * with `retire` and `leave`. Any process finds pending work and its workers with `pendingLanes`, `unownedLanes` and
 * `pools`, and leads with `acquireLeadership`. `order`, `orders` and `followed` carry users' orders to the owner.
 * `report` and `reports` carry the owner's view of an endpoint to users, and `states` returns the stored state.
 */
export interface OwnershipStore {
  /**
   * Registers a worker of a pool, which is alive for `aliveMs` from now on. Numbers are never reused. After a restart
   * of the database, the earlier worker of this process ends: the new worker takes over `keeps`, and the other webhooks
   * become unowned.
   */
  join(life: JoiningWorker): Promise<number>;
  /**
   * Extends the life of a worker and reaps dead workers. Null if the worker itself was reaped. Resolves or rejects
   * within a few seconds regardless of what else the store is doing. A worker sends one heartbeat at a time.
   */
  heartbeat(life: WorkerLife): Promise<Heartbeat | null>;
  /** Acquires webhooks without an owner that the worker's pool serves (WDS-220). Returns none for a reaped worker. */
  acquire(request: AcquireRequest): Promise<Acquisition>;
  /**
   * Releases webhooks and writes the state of their endpoints. Webhooks that the worker does not own under the owner
   * epoch of the state are not changed.
   */
  release(worker: number, webhooks: readonly Handover[]): Promise<void>;
  /**
   * Releases every webhook of the worker except these, with its previous state. The worker never served it, because the
   * reply to `acquire` was lost or the webhook could not be read.
   */
  keepOnly(worker: number, webhookIds: readonly string[]): Promise<void>;
  /**
   * The worker acquires no further webhooks and is no longer counted in its pool. It keeps the webhooks that it owns.
   */
  retire(worker: number): Promise<void>;
  /** Which of these lanes still have work, and which worker or pool may process it. */
  pendingLanes(lanes: readonly LaneKey[]): Promise<readonly PendingLane[]>;
  /**
   * Lanes with work whose webhook has no owner. Pagination covers all lanes with work, so a page may be empty before
   * the end.
   */
  unownedLanes(after: string | null, limit: number): Promise<PendingLanePage>;
  /**
   * Lanes of the worker's webhooks with a delivery that has been claimable since `before` (Unix ms) but was not
   * claimed. Pagination covers all lanes with work, so a page may be empty before the end.
   */
  overdue(query: OverdueQuery): Promise<LanePage>;
  /** Number of live workers of each pool: of `default`, and of any other pool that a worker or a tenant names. */
  pools(): Promise<ReadonlyMap<string, number>>;
  /** Ends a worker. Its webhooks become unowned immediately. */
  leave(worker: number): Promise<void>;
  /** Stores an order for the current or next owner of the webhook. Opaque JSON. */
  order(webhookId: string, order: string): Promise<void>;
  /** Waiting orders for the webhooks of a worker, or for the given webhooks, oldest first. */
  orders(
    query: { readonly worker: number } | { readonly webhookIds: readonly string[] },
  ): Promise<readonly RuntimeOrder[]>;
  /**
   * Stores the reports of owners on their endpoints, for other processes. The reports may be lost if the store crashes.
   */
  report(rows: readonly EndpointReportRow[]): Promise<void>;
  /** Latest reports of the current owners of these webhooks. Excludes reports of former owners and empty documents. */
  reports(webhookIds: readonly string[]): Promise<readonly EndpointReportRow[]>;
  /** Stored endpoint states of these webhooks. Webhooks without a state are omitted. */
  states(webhookIds: readonly string[]): Promise<readonly WebhookRuntimeState[]>;
  /**
   * Removes orders that were executed and whose effect is stored. Orders for webhooks that the worker no longer owns
   * are left to the next owner: the endpoint writes of a former owner are refused, so their effect may not be stored.
   */
  followed(command: FollowedOrders): Promise<void>;
  /**
   * Requests leadership of a task that one process performs at a time, such as `upkeep`. True if no other process
   * leads; the leadership then lasts for `forMs`. Leadership only avoids duplicate work: two leaders at the same time
   * do no harm.
   */
  acquireLeadership(name: string, owner: string, forMs: number): Promise<boolean>;
  /** Names of the leaderships that are currently held. */
  leaderships(): Promise<ReadonlySet<string>>;
}

/** A worker that does not have a number yet. */
export interface JoiningWorker {
  readonly aliveMs: number;
  readonly pool: string;
  /** Webhooks with requests or settlements that the process has not finished. */
  readonly keeps?: readonly OwnedWebhook[];
}

/** A webhook with the owner epoch under which a worker owns it. */
export type OwnedWebhook = Pick<AcquiredWebhook, "webhookId" | "ownerEpoch">;

/** A worker, and how long it counts as alive from now on. */
export interface WorkerLife {
  readonly worker: number;
  readonly aliveMs: number;
}

/** The state of a worker's pool, as returned by its heartbeat. */
export interface Heartbeat {
  /** Number of live workers, including this one. */
  readonly workers: number;
  /** Number of webhooks owned by all of these workers together. */
  readonly owned: number;
}

/** Which webhooks to acquire: the given ones, or any with waiting deliveries, one page of lanes at a time. */
export interface AcquireRequest {
  readonly worker: number;
  readonly from:
    | { readonly kind: "webhooks"; readonly ids: readonly string[] }
    | { readonly kind: "work"; readonly after: string | null; readonly except: readonly string[] };
  readonly limit: number;
  /** By how many webhooks this worker may exceed an equal share for the workers in its pool. */
  readonly slack: number;
}

/** The acquired webhooks; `next` is the `after` of the next page of lanes, null at the end. */
export interface Acquisition {
  readonly webhooks: readonly AcquiredWebhook[];
  readonly next: string | null;
}

/** A lane with waiting deliveries that are not claimed, or that were claimed by a dead owner. */
export interface PendingLane {
  readonly lane: LaneKey;
  /** The owner of the webhook; null if there is none. */
  readonly worker: number | null;
  /** The pool that serves the tenant. */
  readonly pool: string;
  /** Priority of the first delivery. */
  readonly priority: Priority;
}

/** `limit` is the maximum number of lanes scanned; `after` is the `next` of the previous page. */
export interface OverdueQuery {
  readonly worker: number;
  readonly before: number;
  readonly after: string | null;
  readonly limit: number;
}

/** `next` is the `after` of the next page; null at the end. A page may be empty before the end. */
export interface PendingLanePage {
  readonly lanes: readonly PendingLane[];
  readonly next: string | null;
}

/** A webhook with a new owner. */
export interface AcquiredWebhook {
  readonly webhookId: string;
  /**
   * Counts the owners of the webhook. The owner adds the epoch to every `WebhookRuntimeState` that it writes. Not to be
   * confused with a lease token, which counts the leases of one delivery.
   */
  readonly ownerEpoch: number;
  readonly runtime: WebhookRuntimeState | null;
  /** How much of the rate limit is used. */
  readonly rate: RateHandover;
  /** Lanes with waiting deliveries. */
  readonly lanes: readonly LaneKey[];
}

/** `unknown`: the last owner died and may have used the whole limit. */
export type RateHandover =
  | { readonly kind: "unused" }
  | { readonly kind: "unknown" }
  | { readonly kind: "full_at"; readonly fullAt: number };

/**
 * A webhook to release. `rateFullAt` is when its rate limit bucket is full again (domain/rate-limit.ts); null without a
 * bucket.
 */
export interface Handover {
  readonly state: WebhookRuntimeState;
  readonly rateFullAt: number | null;
}

/** An owner's report on an endpoint. Opaque JSON; empty if the owner reports nothing. */
export interface EndpointReportRow {
  readonly webhookId: string;
  readonly ownerEpoch: number;
  readonly document: string;
}

/** A user's request to a running endpoint, stored by a process that does not own the endpoint. */
export interface RuntimeOrder {
  readonly ref: number;
  readonly webhookId: string;
  readonly order: string;
}

/** Orders (`RuntimeOrder.ref`) that a worker executed. */
export interface FollowedOrders {
  readonly worker: number;
  readonly refs: readonly number[];
}
