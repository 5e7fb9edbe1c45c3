import type { Priority } from "../../domain/delivery.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import type { LanePage, WebhookRuntimeState } from "./deliveries.ts";

/**
 * Which worker serves which webhook, if several processes share a store. A webhook has one owner at a time, so its
 * order, limits and circuit are kept in the memory of one process and apply to any number of workers.
 *
 * Promises:
 * - no other worker acquires an owned webhook before its owner has released it or has been reaped;
 * - a worker is reaped only when the store's clock has reached the end of its last heartbeat. A worker counts `aliveMs`
 *   on its own monotonic clock, starting before it sends the heartbeat, so it always stops before it is reaped;
 * - a heartbeat of a reaped worker reports that the worker was reaped, however late the heartbeat arrives;
 * - a new owner gets every delivery of the webhook: the leases of the last owner are void, and the store refuses its
 *   settlements and its endpoint writes;
 * - a worker that rejoins after a restart of the database keeps the webhooks that it lists, if it still owns them under
 *   the listed owner epochs: their leases stay valid, and no other worker acquires them in between;
 * - a call that timed out may reach the store late. It then releases nothing that the worker has acquired since, and a
 *   lease that it takes in a webhook of another owner blocks that owner only briefly;
 * - the owner may claim the lanes that `overdue` returns: they are not blocked by a running lease or by a delivery that
 *   is not due;
 * - each call is one or two statements, regardless of the number of webhooks.
 *
 * A worker calls `join`, then sends `heartbeat` regularly. It acquires webhooks with `acquire`. It releases the
 * webhooks that it served with `release`, and those that it never served with `keepOnly`. It finds missed work with
 * `overdue`, and ends with `retire` and `leave`.
 *
 * Any process finds pending work and its workers with `pendingLanes`, `unownedLanes` and `pools`, and acquires
 * leadership with `acquireLeadership`. `order`, `orders` and `followed` pass users' commands to the owner. `report` and
 * `reports` pass the owner's view of an endpoint to users, and `states` returns the stored state.
 */
export interface OwnershipStore {
  /**
   * Registers a worker in a pool. The worker counts as alive for `aliveMs` from now on. Worker numbers are never
   * reused. After a restart of the database, the earlier worker of this process ends: the new worker takes over
   * `keeps`, and the other webhooks become unowned.
   */
  join(life: JoiningWorker): Promise<number>;
  /**
   * Extends the life of a worker and reaps dead workers. Null if the worker itself was reaped. Resolves or rejects
   * within a few seconds regardless of what else the store is doing. A worker sends one heartbeat at a time.
   */
  heartbeat(life: WorkerLife): Promise<Heartbeat | null>;
  /**
   * Acquires webhooks without an owner that the worker's pool serves (WDS-220). Returns no webhooks for a reaped
   * worker.
   */
  acquire(request: AcquireRequest): Promise<Acquisition>;
  /**
   * Releases webhooks and writes the state of their endpoints. A webhook is not changed if the worker does not own it
   * under the owner epoch of the given state.
   */
  release(worker: number, webhooks: readonly Handover[]): Promise<void>;
  /**
   * Releases all webhooks of the worker except these. The stored states of the released webhooks are not changed,
   * because the worker never served them: the reply to `acquire` was lost, or the webhook could not be read.
   */
  keepOnly(worker: number, webhookIds: readonly string[]): Promise<void>;
  /**
   * After this call, the worker acquires no further webhooks and its pool does not count it any more. It keeps the
   * webhooks that it owns.
   */
  retire(worker: number): Promise<void>;
  /** Which of these lanes still have work, and which worker or pool may process that work. */
  pendingLanes(lanes: readonly LaneKey[]): Promise<readonly PendingLane[]>;
  /**
   * Lanes with work whose webhook does not have an owner. Pages cover all lanes with work, so a page may be empty
   * before the end.
   */
  unownedLanes(after: string | null, limit: number): Promise<PendingLanePage>;
  /**
   * Lanes of the worker's webhooks with a delivery that has been claimable since `before` (Unix ms) but has not been
   * claimed. Pages cover all lanes with work, so a page may be empty before the end.
   */
  overdue(query: OverdueQuery): Promise<LanePage>;
  /** Number of live workers of each pool: `default`, and every other pool to which a worker or a tenant belongs. */
  pools(): Promise<ReadonlyMap<string, number>>;
  /** Ends a worker. Its webhooks become unowned immediately. */
  leave(worker: number): Promise<void>;
  /** Stores a user's command for the current or next owner of the webhook. Opaque JSON. */
  order(webhookId: string, order: string): Promise<void>;
  /** Waiting commands for the webhooks of a worker, or for the given webhooks, oldest first. */
  orders(
    query: { readonly worker: number } | { readonly webhookIds: readonly string[] },
  ): Promise<readonly RuntimeOrder[]>;
  /**
   * Stores the reports of owners on their endpoints, for other processes. The reports may be lost if the store crashes.
   */
  report(rows: readonly EndpointReportRow[]): Promise<void>;
  /** Latest reports of the current owners of these webhooks. Excludes reports of former owners and empty reports. */
  reports(webhookIds: readonly string[]): Promise<readonly EndpointReportRow[]>;
  /** Stored endpoint states of these webhooks. Webhooks without a state are omitted. */
  states(webhookIds: readonly string[]): Promise<readonly WebhookRuntimeState[]>;
  /**
   * Removes commands that were executed and whose effect is stored. Commands for webhooks that the worker no longer
   * owns are left to the next owner: the endpoint writes of a former owner are refused, so the effect of a command may
   * not be stored.
   */
  followed(command: FollowedOrders): Promise<void>;
  /**
   * Requests leadership of a task that only one process should perform at a time, such as `upkeep`. True if no other
   * process leads; the leadership then lasts for `forMs`. Leadership only avoids duplicate work: two leaders at the
   * same time do no harm.
   */
  acquireLeadership(name: string, owner: string, forMs: number): Promise<boolean>;
  /** Names of the tasks that have a leader at the moment. */
  leaderships(): Promise<ReadonlySet<string>>;
}

/** A worker that does not have a number yet. */
export interface JoiningWorker {
  readonly aliveMs: number;
  readonly pool: string;
  /** Webhooks for which this process has unfinished requests or settlements. */
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
  /** Total number of webhooks that these workers own. */
  readonly owned: number;
}

/**
 * Selects the webhooks to acquire: the given ones, or any webhook with waiting deliveries, one page of lanes at a time.
 */
export interface AcquireRequest {
  readonly worker: number;
  readonly from:
    | { readonly kind: "webhooks"; readonly ids: readonly string[] }
    | { readonly kind: "work"; readonly after: string | null; readonly except: readonly string[] };
  readonly limit: number;
  /** By how many webhooks this worker may exceed an equal share of the webhooks of its pool. */
  readonly slack: number;
}

/** The acquired webhooks; `next` is the `after` of the next page of lanes, null at the end. */
export interface Acquisition {
  readonly webhooks: readonly AcquiredWebhook[];
  readonly next: string | null;
}

/** A lane with waiting deliveries that have not been claimed, or were claimed by an owner that is dead. */
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

/** A webhook that the worker has acquired. */
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

/** `unknown`: the last owner died and may have used up the limit. */
export type RateHandover =
  | { readonly kind: "unused" }
  | { readonly kind: "unknown" }
  | { readonly kind: "full_at"; readonly fullAt: number };

/**
 * A webhook to release. `rateFullAt` is when its rate limit bucket will be full again (domain/rate-limit.ts); null for
 * a webhook without a bucket.
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

/** A user's command to a running endpoint, stored by a process that does not own the endpoint. */
export interface RuntimeOrder {
  readonly ref: number;
  readonly webhookId: string;
  readonly order: string;
}

/** Commands (`RuntimeOrder.ref`) that a worker executed. */
export interface FollowedOrders {
  readonly worker: number;
  readonly refs: readonly number[];
}
