import type { CircuitTransition } from "../core/circuit-breaker.ts";
import type { RateLimitConfig } from "../core/profile.ts";
import type { WaitingSlots } from "../core/request-slots.ts";
import type { Webhook } from "../core/webhook.ts";
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
import type { RelayedMessages } from "./forward/relayed-messages.ts";
import type { LiveWebhook } from "./endpoint/live-webhook.ts";
import type { RenderedFrom, RenderedRequest } from "./attempt/rendered-request.ts";
import type { OperationalRelay } from "./publish/operational-relay.ts";
import type { SystemEvent } from "./publish/publish-call.ts";

/**
 * What services may ask of the running engine. Services change configuration; the engine owns what moves:
 * lanes, circuits, in-flight requests and the grouped commits.
 */
export interface EngineAccess {
  /** Every webhook that is not deleted, with what the engine knows of it. */
  webhook(id: string): LiveWebhook | undefined;
  webhooks(): Iterable<LiveWebhook>;
  /** After the store has it: takes a new or changed webhook with its keys into service, at once. */
  applyWebhook(change: WebhookChange): void;
  removeWebhook(id: string): void;
  /** After that: cancels what waits of it, as far as one step goes; upkeep does the rest. */
  cancelWaiting(webhookId: string): Promise<void>;
  /** Ends the pause that an answer of the receiver asked for, once that is stored. */
  resume(webhookId: string): Promise<void>;
  /** After `saveTenantKeys`: webhooks of the tenant sign with these from the next attempt on. */
  applyTenantKeys(change: { readonly tenantId: string; readonly keys: readonly StoredSecret[] }): void;
  /** After `saveTenant`. */
  applyTenantLimit(change: TenantLimitChange): void;

  /** A `posthorn.*` event of the system itself, to its subscribers or to the one webhook named. */
  publishSystemEvent(
    event: SystemEvent,
  ): Promise<{ readonly eventId: string; readonly deliveryIds: readonly string[] }>;
  /** Publishes operational events. */
  readonly relay: Pick<OperationalRelay, "stored" | "compose">;
  /** Whether this process leads in what one process does at a time. */
  leads(leadership: { readonly name: string; readonly forMs: number }): Promise<boolean>;
  /** Where requests count that have waited for a second, whoever made them. */
  readonly waitingSlots: WaitingSlots;
  /** Stores or forwards what the gateway received. */
  readonly gateway: Pick<RelayedMessages, "publish" | "forward" | "known">;
  /** Through the grouped commits; new deliveries start at once. */
  requeue(command: RequeueCommand): Promise<RequeueResult>;
  /** Through the grouped commits; the delivery waits again and may start at once. */
  retry(command: RetryCommand): Promise<RetryResult>;
  /** Cancels what waits, or discards dead letters; answers in their order. Lanes whose head ended go on at once. */
  end(command: EndDeliveries): Promise<readonly EndResult[]>;

  /** How a new delivery joins a webhook as it is now: which line, and which body. */
  placeOf(webhook: Webhook, eventType: string): Pick<NewDelivery, "lane" | "format">;
  /** Status, what it waits for and until when. */
  explain(delivery: StoredDelivery): DeliveryView;
  /** A request of a delivery as it was sent, as far as that is known; null once its webhook was deleted. */
  renderRequest(from: Omit<RenderedFrom, "config">): RenderedRequest | null;
  /** The circuit of a webhook was changed by hand: look at its lanes again. Resolves once the change is stored. */
  circuitChanged(webhookId: string, transition?: CircuitTransition | null): Promise<void>;
  /** As `Ownership.refresh`. At once where there is only one process. */
  refresh(webhookIds: readonly string[], part?: "states"): Promise<void>;
  nextId(): string;
}

/** At most a few hundred. */
export interface EndDeliveries extends Omit<EndCommand, "ids"> {
  readonly deliveries: readonly Pick<StoredDelivery, "id" | "webhookId">[];
}

export interface WebhookChange {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
}

export interface TenantLimitChange {
  readonly tenantId: string;
  readonly rateLimit: RateLimitConfig | null;
}
