import type { Priority } from "../../core/delivery.ts";
import type { LaneKey } from "../../core/webhook.ts";
import type { LanePage, WebhookRuntimeState } from "./deliveries.ts";

/**
 * Who serves which webhook, where several processes share a store. A webhook has one owner at a time, so that its order,
 * its limits and its circuit hold over any number of workers, kept in the memory of one.
 *
 * Promises:
 * - no other worker acquires an owned webhook before its owner released it or was reaped;
 * - a worker is reaped only when the store's clock has reached the end of its last heartbeat, so a worker that counts
 *   `aliveMs` on its own monotonic clock from before it sent that always stops first;
 * - a heartbeat of a worker that was reaped says so, however late it comes;
 * - with a webhook its new owner gets every delivery of it: the leases of the last owner are void, and the store
 *   refuses its settlements and its writes about the endpoint;
 * - a worker that joins again after a restart of the database keeps the webhooks that it names, when it still owns them
 *   under these owner epochs: their leases stay valid, and no other worker acquires them in between;
 * - a call that was given up and reaches the store late frees nothing that the worker has acquired since, and a foreign
 *   lease that it makes in a webhook of another owner holds up that owner for no longer than a moment;
 * - the owner may claim the lanes that `overdue` finds: no running lease and no delivery that is not due holds them up;
 * - each call is a statement or two, whatever the number of webhooks.
 *
 * A worker calls `join`, then `heartbeat` for as long as it lives. It acquires webhooks with `acquire`, frees those
 * that it served with `release` and the others with `keepOnly`, finds missed work with `overdue`, and ends with
 * `retire` and `leave`. Any process asks with `pendingLanes`, `unownedLanes` and `pools` where work is and who may do
 * it, and leads with `acquireLeadership`. `order`, `orders` and `followed` carry orders of people to the owner;
 * `report` and `reports` carry what the owner sees to people, and `states` tells what it stored.
 */
export interface OwnershipStore {
  /**
   * Registers a worker of a pool, which is alive for `aliveMs` from now on. Numbers are never used again. After a restart
   * of the database the earlier worker of this process ends: it hands `keeps` to the new worker, and its other webhooks
   * are free.
   */
  join(life: JoiningWorker): Promise<number>;
  /**
   * Prolongs the life of a worker, and reaps others that are dead. Null when it was reaped itself. Answers or rejects within
   * a few seconds whatever else the store is doing, and one worker sends one at a time.
   */
  heartbeat(life: WorkerLife): Promise<Heartbeat | null>;
  /** Acquires webhooks without an owner that its pool serves (WDS-220). Nothing for a worker that was reaped. */
  acquire(request: AcquireRequest): Promise<Acquisition>;
  /**
   * Frees webhooks, with the state of their endpoints. Webhooks that the worker does not own, or not any more under the
   * owner epoch of the state, stay as they are.
   */
  release(command: { readonly worker: number; readonly webhooks: readonly Handover[] }): Promise<void>;
  /**
   * Frees every webhook of the worker beside these, with the state that it had before: the worker never served it,
   * because the reply to `acquire` was lost or the webhook could not be read.
   */
  keepOnly(command: { readonly worker: number; readonly webhookIds: readonly string[] }): Promise<void>;
  /**
   * The worker acquires nothing more and counts no more among those of its pool. It keeps the webhooks that it owns.
   */
  retire(worker: number): Promise<void>;
  /** Which of these lanes still have work, and who may do it. */
  pendingLanes(lanes: readonly LaneKey[]): Promise<readonly PendingLane[]>;
  /** Lanes with work whose webhook nobody owns, a page of all lanes with work at a time. */
  unownedLanes(page: { readonly after: string | null; readonly limit: number }): Promise<PendingLanePage>;
  /**
   * Lanes of webhooks that the worker owns with a delivery that could have been claimed since `before` (Unix ms) and is not,
   * a page of all lanes with work at a time; a page may be empty before the end.
   */
  overdue(query: OverdueQuery): Promise<LanePage>;
  /** How many workers live in each pool: `default`, and any other that a worker or a tenant names. */
  pools(): Promise<ReadonlyMap<string, number>>;
  /** Ends a worker. Its webhooks are free at once. */
  leave(worker: number): Promise<void>;
  /** Stores an order for the owner of the webhook, the present or the next one. Opaque JSON. */
  order(command: { readonly webhookId: string; readonly order: string }): Promise<void>;
  /** Orders that wait: for the webhooks of a worker, or for these webhooks; oldest first. */
  orders(
    query: { readonly worker: number } | { readonly webhookIds: readonly string[] },
  ): Promise<readonly RuntimeOrder[]>;
  /** Stores the reports of owners on their endpoints, for others to read. May be lost in a crash of the store. */
  report(rows: readonly EndpointReportRow[]): Promise<void>;
  /** The last reports of the present owners of these webhooks; no reports of former owners, and no empty documents. */
  reports(webhookIds: readonly string[]): Promise<readonly EndpointReportRow[]>;
  /** What is stored of the endpoints of these webhooks; none of those of which nothing is. */
  states(webhookIds: readonly string[]): Promise<readonly WebhookRuntimeState[]>;
  /**
   * Forgets orders that were followed and whose effect is stored. Those of webhooks that the worker does not own any more are
   * left to the next owner: what a former owner writes of an endpoint is refused, so their effect may not be stored.
   */
  followed(command: FollowedOrders): Promise<void>;
  /**
   * Asks to lead in what one process does at a time, such as `upkeep`. True for `forMs` from now when nobody else
   * leads. Leadership only saves work: two leaders at a time do no harm.
   */
  acquireLeadership(leadership: {
    readonly name: string;
    readonly holder: string;
    readonly forMs: number;
  }): Promise<boolean>;
  /** Names in which a process leads now. */
  leaderships(): Promise<ReadonlySet<string>>;
}

/** A worker that has no number yet. */
export interface JoiningWorker {
  readonly aliveMs: number;
  readonly pool: string;
  /** Webhooks with requests or settlements that the process has not finished. */
  readonly keeps?: readonly OwnedWebhook[];
}

/** A webhook, and the owner epoch under which a worker owns it. */
export type OwnedWebhook = Pick<AcquiredWebhook, "webhookId" | "ownerEpoch">;

/** A worker, and for how long it counts as alive from now on. */
export interface WorkerLife {
  readonly worker: number;
  readonly aliveMs: number;
}

/** The pool of a worker, as of its heartbeat. */
export interface Heartbeat {
  /** Workers alive, itself included. */
  readonly workers: number;
  /** Webhooks that all of them own. */
  readonly owned: number;
}

/** Which webhooks to acquire: these, or any with waiting deliveries, a page of lanes at a time. */
export interface AcquireRequest {
  readonly worker: number;
  readonly from:
    | { readonly kind: "webhooks"; readonly ids: readonly string[] }
    | { readonly kind: "work"; readonly after: string | null; readonly except: readonly string[] };
  readonly limit: number;
  /** How far above an equal share of the workers in its pool this one may come. */
  readonly slack: number;
}

/** The acquired webhooks; `next` is the `after` of the next page of lanes, null at the end. */
export interface Acquisition {
  readonly webhooks: readonly AcquiredWebhook[];
  readonly next: string | null;
}

/** A lane with waiting deliveries that nobody has claimed, or that a dead owner had claimed. */
export interface PendingLane {
  readonly lane: LaneKey;
  /** The owner of its webhook; null without one. */
  readonly worker: number | null;
  /** The pool that serves its tenant. */
  readonly pool: string;
  /** Of the first delivery. */
  readonly priority: Priority;
}

/** `limit` bounds the lanes that are looked at; `after` is the `next` of the page before. */
export interface OverdueQuery {
  readonly worker: number;
  readonly before: number;
  readonly after: string | null;
  readonly limit: number;
}

/** `next` is the `after` of the next page, null at the end; a page may be empty before that. */
export interface PendingLanePage {
  readonly lanes: readonly PendingLane[];
  readonly next: string | null;
}

/** A webhook with a new owner. */
export interface AcquiredWebhook {
  readonly webhookId: string;
  /**
   * Counts the owners of the webhook. Belongs into every `WebhookRuntimeState` that the owner writes. Not a lease
   * token, which counts the leases of one delivery.
   */
  readonly ownerEpoch: number;
  readonly runtime: WebhookRuntimeState | null;
  /** How much of its rate limit is used up. */
  readonly rate: RateHandover;
  /** Lanes in which deliveries wait. */
  readonly lanes: readonly LaneKey[];
}

/** `unknown`: the last owner died and may have used all of it. */
export type RateHandover =
  | { readonly kind: "unused" }
  | { readonly kind: "unknown" }
  | { readonly kind: "full_at"; readonly fullAt: number };

/** A webhook to release; `rateFullAt` is that of its bucket (core/rate-limit.ts), null without one. */
export interface Handover {
  readonly state: WebhookRuntimeState;
  readonly rateFullAt: number | null;
}

/** An owner's report on an endpoint: opaque JSON, empty when the owner reports nothing. */
export interface EndpointReportRow {
  readonly webhookId: string;
  readonly ownerEpoch: number;
  readonly document: string;
}

/** Something that a person asked of a running endpoint, in a process that does not own it. */
export interface RuntimeOrder {
  readonly ref: number;
  readonly webhookId: string;
  readonly order: string;
}

/** Orders of `RuntimeOrder.ref` that a worker followed. */
export interface FollowedOrders {
  readonly worker: number;
  readonly refs: readonly number[];
}
