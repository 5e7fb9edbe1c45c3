import type { CircuitTransition } from "../domain/circuit-breaker.ts";
import type { DeliveryGate } from "../domain/gate-explanation.ts";
import type { RateLimitConfig } from "../domain/profile.ts";
import type { WaitingSlots } from "../domain/request-slots.ts";
import type { Webhook } from "../domain/webhook.ts";
import type {
  EndCommand,
  EndResult,
  NewDelivery,
  RequeueCommand,
  RequeueResult,
  RetryCommand,
  RetryResult,
} from "../ports/store/deliveries.ts";
import type { StoredDelivery } from "../ports/store/history.ts";
import type { StoredSecret } from "../ports/store/webhooks.ts";
import type { DeliveryView } from "./endpoint/explain.ts";
import type { Leadership } from "./endpoint/ownership.ts";
import type { RelayedMessages } from "./forward/relayed-messages.ts";
import type { LiveWebhook } from "./endpoint/endpoint-config.ts";
import type { RenderedFrom, RenderedRequest } from "./attempt/attempts.ts";
import type { OperationalRelay } from "./publish/operational-relay.ts";
import type { SystemEvent } from "./publish/publish-call.ts";

/**
 * The engine's interface for services. Services change configuration; the engine owns runtime state: lanes, circuits,
 * requests in flight and the grouped commits.
 */
export interface EngineAccess {
  /** Every webhook that is not deleted, with its runtime state. */
  webhook(id: string): LiveWebhook | undefined;
  webhooks(): Iterable<LiveWebhook>;
  /** Puts a new or changed webhook with its keys into service immediately. Call after storing it. */
  applyWebhook(change: WebhookChange): void;
  removeWebhook(id: string): void;
  /** Cancels waiting deliveries in one step; upkeep cancels the rest. Call after `removeWebhook`. */
  cancelWaiting(webhookId: string): Promise<void>;
  /** Ends the pause that a response of the receiver requested. Resolves once the change is stored. */
  resume(webhookId: string): Promise<void>;
  /** Applies the keys with which the tenant's webhooks sign from the next attempt on. Call after `saveTenantKeys`. */
  applyTenantKeys(tenantId: string, keys: readonly StoredSecret[]): void;
  /** Call after `saveTenant`. */
  applyTenantLimit(tenantId: string, rateLimit: RateLimitConfig | null): void;

  /** Publishes a `posthorn.*` system event to its subscribers, or only to the named webhook. */
  publishSystemEvent(
    event: SystemEvent,
  ): Promise<{ readonly eventId: string; readonly deliveryIds: readonly string[] }>;
  /** Publishes operational events. */
  readonly relay: Pick<OperationalRelay, "stored" | "compose">;
  /** Whether this process leads a task that one process performs at a time. */
  leads(leadership: Leadership): Promise<boolean>;
  /** The slots of requests of any kind that have waited for more than a second. */
  readonly waitingSlots: WaitingSlots;
  /** Stores or forwards messages of the gateway. */
  readonly gateway: Pick<RelayedMessages, "publish" | "forward" | "known">;
  /** Stores new deliveries of existing events with a grouped commit. They start immediately. */
  requeue(command: RequeueCommand): Promise<RequeueResult>;
  /** Retries a delivery with a grouped commit. It waits again and may start immediately. */
  retry(command: RetryCommand): Promise<RetryResult>;
  /**
   * Cancels waiting deliveries, or discards dead letters. Results are in order. Lanes whose head ended continue
   * immediately.
   */
  end(command: EndDeliveries): Promise<readonly EndResult[]>;

  /** The lane and format of a new delivery, according to the current configuration of a webhook. */
  placeOf(webhook: Webhook, eventType: string): Pick<NewDelivery, "lane" | "format">;
  /** The status of a delivery, what it waits for, and until when. */
  explain(delivery: StoredDelivery): DeliveryView;
  /** The closed gates of a webhook; empty if it was deleted. */
  gates(webhookId: string): readonly DeliveryGate[];
  /** The request of a delivery as it was sent, as far as it is known; null if the webhook was deleted. */
  renderRequest(from: Omit<RenderedFrom, "config">): RenderedRequest | null;
  /**
   * Call after the circuit of a webhook was changed manually. Serves its lanes again. Resolves once the change is
   * stored.
   */
  circuitChanged(webhookId: string, transition?: CircuitTransition | null): Promise<void>;
  /** Like `Ownership.refresh`. Resolves immediately if there is only one process. */
  refresh(webhookIds: readonly string[], part?: "states"): Promise<void>;
  nextId(): string;
}

/** The number of deliveries is limited to a few hundred. */
export interface EndDeliveries extends Omit<EndCommand, "ids"> {
  readonly deliveries: readonly Pick<StoredDelivery, "id" | "webhookId">[];
}

export interface WebhookChange {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
}
