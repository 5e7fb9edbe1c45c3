import type { Priority } from "../../core/delivery.ts";
import type { LaneKey } from "../../core/webhook.ts";
import type { WebhookRuntimeState } from "./deliveries.ts";

/**
 * Who serves which webhook, where several processes share a store. A webhook has one owner at a time, so that its order,
 * its limits and its circuit hold over any number of workers, kept in the memory of one.
 *
 * Promises:
 * - a webhook that a worker owns is given to nobody else before the worker released it or was reaped;
 * - a worker is reaped only when the store's clock has reached the end of its last beat, so a worker that counts
 *   `aliveMs` on its own monotonic clock from before it sent the beat always stops first;
 * - a beat of a worker that was reaped says so, however late it comes;
 * - with a webhook its new owner gets every delivery of it: leases that the last owner left are void, and what that one
 *   still tries to settle, or to write of its endpoint, is refused;
 * - a call that was given up and reaches the store late gives away nothing that the worker has taken since, and what it
 *   leases of a webhook that is somebody else's by then holds up the owner for no longer than a moment;
 * - each call is a statement or two, whatever the number of webhooks.
 *
 * A worker calls `join`, then `beat` for as long as it lives. It takes webhooks with `acquire`, gives back with `release` what
 * it served and with `keepOnly` what it did not, and ends with `retire` and `leave`. Any process asks with `left`, `unserved`
 * and `pools` where work is and who may do it, and for a duty with `lead`. `order`, `orders` and `followed` carry what people
 * ask to the owner; `report` and `reports` carry what the owner sees to people.
 */
export interface OwnershipStore {
  /** Registers a worker of a pool, which is alive for `aliveMs` from now on. Numbers are never used again. */
  join(life: { readonly aliveMs: number; readonly pool: string }): Promise<number>;
  /** Prolongs the life of a worker and reaps those that are dead. Null when it was reaped itself. */
  beat(life: { readonly worker: number; readonly aliveMs: number }): Promise<Beat | null>;
  /** Takes webhooks that nobody owns and that its pool serves (WDS-220). Nothing for a worker that was reaped. */
  acquire(request: AcquireRequest): Promise<Acquisition>;
  /**
   * Gives webhooks back, with what is known of their endpoints. Those that the worker does not own, or not any more under
   * the fence of the state, are left alone.
   */
  release(command: { readonly worker: number; readonly webhooks: readonly Handover[] }): Promise<void>;
  /**
   * Gives back whatever the worker owns beside these webhooks, as it was before it was taken: the worker never served it,
   * because it did not hear that it was given it, or could not read it.
   */
  keepOnly(command: { readonly worker: number; readonly webhookIds: readonly string[] }): Promise<void>;
  /** The worker takes nothing more and counts no more among those of its pool. What it owns stays its own. */
  retire(worker: number): Promise<void>;
  /** Which of these lanes still have work, and who may do it. */
  left(lanes: readonly LaneKey[]): Promise<readonly LaneLeft[]>;
  /** Lanes with work whose webhook nobody owns, a page of all lanes with work at a time. */
  unserved(page: { readonly after: string | null; readonly limit: number }): Promise<LaneLeftPage>;
  /** How many workers live in each pool: `default`, and any other that a worker or a tenant names. */
  pools(): Promise<ReadonlyMap<string, number>>;
  /** Ends a worker. What it owns is free at once. */
  leave(worker: number): Promise<void>;
  /** Leaves an order for whoever owns the webhook, now or next. Opaque JSON. */
  order(command: { readonly webhookId: string; readonly order: string }): Promise<void>;
  /** Orders that wait: for what a worker owns, or for these webhooks; oldest first. */
  orders(
    query: { readonly worker: number } | { readonly webhookIds: readonly string[] },
  ): Promise<readonly RuntimeOrder[]>;
  /** Keeps what owners tell of their endpoints, for others to read. May be lost in a crash of the store. */
  report(rows: readonly EndpointReportRow[]): Promise<void>;
  /** What the present owners of these webhooks told last; nothing of a former owner, and no empty documents. */
  reports(webhookIds: readonly string[]): Promise<readonly EndpointReportRow[]>;
  /**
   * Forgets orders that were followed and whose effect is stored. Those of webhooks that the worker does not own any more are
   * left to the next owner: what a former owner writes of an endpoint is refused, so their effect may not be stored.
   */
  followed(command: { readonly worker: number; readonly refs: readonly number[] }): Promise<void>;
  /**
   * Asks for a duty that one process at a time has, such as `upkeep`. True for `forMs` from now when nobody else has it.
   * A duty only saves work: what is done under it does no harm when two do it.
   */
  lead(duty: { readonly name: string; readonly holder: string; readonly forMs: number }): Promise<boolean>;
}

/** What a worker hears of its pool with its beat. */
export interface Beat {
  /** Workers alive, itself included. */
  readonly workers: number;
  /** Webhooks that all of them own. */
  readonly owned: number;
}

/** Which webhooks to take: these, or any with waiting deliveries, a page of lanes at a time. */
export interface AcquireRequest {
  readonly worker: number;
  readonly from:
    | { readonly kind: "webhooks"; readonly ids: readonly string[] }
    | { readonly kind: "work"; readonly after: string | null; readonly except: readonly string[] };
  readonly limit: number;
  /** How far above an equal share of the workers in its pool this one may come. */
  readonly slack: number;
}

/** What was taken; `next` is the `after` of the next page of lanes, null at the end. */
export interface Acquisition {
  readonly webhooks: readonly AcquiredWebhook[];
  readonly next: string | null;
}

/** A lane in which deliveries wait that nobody has claimed, or that a dead owner had. */
export interface LaneLeft {
  readonly lane: LaneKey;
  /** The owner of its webhook; null without one. */
  readonly worker: number | null;
  /** The pool that serves its tenant. */
  readonly pool: string;
  /** Of what comes first. */
  readonly priority: Priority;
}

/** `next` is the `after` of the next page, null at the end; a page may be empty before that. */
export interface LaneLeftPage {
  readonly left: readonly LaneLeft[];
  readonly next: string | null;
}

/** A webhook with a new owner. */
export interface AcquiredWebhook {
  readonly webhookId: string;
  /**
   * Counts the owners of the webhook. Belongs into every `WebhookRuntimeState` that the owner writes. Not the fence of a
   * lease, which counts the leases of one delivery.
   */
  readonly fence: number;
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

/** A webhook to give back; `rateFullAt` is that of its bucket (core/rate-limit.ts), null without one. */
export interface Handover {
  readonly state: WebhookRuntimeState;
  readonly rateFullAt: number | null;
}

/** What an owner tells of an endpoint: opaque JSON, empty when there is nothing to tell. */
export interface EndpointReportRow {
  readonly webhookId: string;
  readonly fence: number;
  readonly document: string;
}

/** Something that a person asked of a running endpoint, in a process that does not own it. */
export interface RuntimeOrder {
  readonly ref: number;
  readonly webhookId: string;
  readonly order: string;
}
