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
 * - each call is one statement, whatever the number of webhooks.
 */
export interface OwnershipStore {
  /** Registers a worker, which is alive for `aliveMs` from now on. Numbers are never used again. */
  join(life: { readonly aliveMs: number }): Promise<number>;
  /** Prolongs the life of a worker and reaps those that are dead. Null when it was reaped itself. */
  beat(life: { readonly worker: number; readonly aliveMs: number }): Promise<Beat | null>;
  /** Takes webhooks that nobody owns. Nothing for a worker that was reaped. */
  acquire(request: AcquireRequest): Promise<Acquisition>;
  /** Gives webhooks back, with what is known of their endpoints. Those that the worker does not own are left alone. */
  release(command: { readonly worker: number; readonly webhooks: readonly Handover[] }): Promise<void>;
  /** Ends a worker. What it owns is free at once. */
  leave(worker: number): Promise<void>;
  /** Leaves an order for whoever owns the webhook, now or next. Opaque JSON. */
  order(command: { readonly webhookId: string; readonly order: string }): Promise<void>;
  /** Orders that wait: for what a worker owns, or for these webhooks; oldest first. */
  orders(
    query: { readonly worker: number } | { readonly webhookIds: readonly string[] },
  ): Promise<readonly RuntimeOrder[]>;
  /** Forgets orders that were followed and whose effect is stored. */
  followed(refs: readonly number[]): Promise<void>;
  /**
   * Asks for a duty that one process at a time has, such as `upkeep`. True for `forMs` from now when nobody else has it.
   * A duty only saves work: what is done under it does no harm when two do it.
   */
  lead(duty: { readonly name: string; readonly holder: string; readonly forMs: number }): Promise<boolean>;
}

/** What a worker hears with its beat. */
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
  /** How far above an equal share of all workers this one may come. */
  readonly slack: number;
}

/** What was taken; `next` is the `after` of the next page of lanes, null at the end. */
export interface Acquisition {
  readonly webhooks: readonly AcquiredWebhook[];
  readonly next: string | null;
}

/** A webhook with a new owner. */
export interface AcquiredWebhook {
  readonly webhookId: string;
  /** Belongs into every `WebhookRuntimeState` that the owner writes. */
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

/** Something that a person asked of a running endpoint, in a process that does not own it. */
export interface RuntimeOrder {
  readonly ref: number;
  readonly webhookId: string;
  readonly order: string;
}
