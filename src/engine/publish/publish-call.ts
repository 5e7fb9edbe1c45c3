/** Input and output of publishing. */
import type { DeliveryOrigin, Priority } from "../../domain/delivery.ts";
import type { PosthornError } from "../../domain/errors.ts";
import type { Relayed } from "../../features/gateway/relayed.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import type { EventLink } from "../../domain/event-type.ts";
import type { JsonText } from "../../domain/json/json-text.ts";

/** A payload of any media type, delivered byte for byte (EDS-2-1, TS16-41). */
export interface RawContent {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** `data` and `metadata` may also be parsed JSON together with its text. */
export interface PublishInput {
  readonly eventType: string;
  /** An object; omit it if `dataJson` or `raw` is given. Sent as serialized by `JSON.stringify`. */
  readonly data?: unknown;
  /** Instead of `data`: its JSON text, which is sent unchanged. */
  readonly dataJson?: string;
  readonly raw?: RawContent;
  /** Defaults to the scope's tenant, or `default` for an administrator. */
  readonly tenantId?: string;
  readonly source?: string;
  /** RFC 3339; defaults to now. */
  readonly timestamp?: string;
  readonly idempotencyKey?: string;
  readonly priority?: Priority;
  readonly metadata?: Readonly<Record<string, unknown>> | JsonText;
  /** Instead of `metadata`: its JSON text, which is sent unchanged. */
  readonly metadataJson?: string;
  readonly links?: readonly EventLink[];
  /** The publisher's trace context (W3C Trace Context); sent with every request. */
  readonly traceparent?: string;
  /** Vendor-specific trace state; sent to webhooks that opted in. */
  readonly tracestate?: string;
}

export interface PublishReceipt {
  readonly id: string;
  readonly eventType: string;
  readonly tenantId: string;
  readonly timestamp: number;
  /** The publisher's key, or the event's ID if none was given. */
  readonly idempotencyKey: string;
  readonly sequenceNumber: number;
  /** Total number of deliveries. */
  readonly deliveries: number;
  /** Number of deliveries that are written in the next moments; absent if all are written. */
  readonly deliveriesFollowing?: number;
  readonly duplicate: boolean;
}

/** One entry of a batch: a receipt, or the error of this event. */
export type PublishEntry =
  | { readonly kind: "published"; readonly receipt: PublishReceipt }
  | { readonly kind: "refused"; readonly error: PosthornError };

/** A message that the gateway received and verified. */
export interface RelayedEvent {
  readonly tenantId: string;
  readonly eventType: string;
  readonly raw: RawContent;
  /** Name of the source, for display. */
  readonly source: string;
  readonly relayed: Relayed;
  /** Identifies the request; a repeat with the same body is the same event. */
  readonly key: string;
  /** How long the key is remembered. */
  readonly dedupMs: number;
  /** The target webhooks, regardless of subscriptions. Missing or deleted webhooks are skipped. */
  readonly targets: readonly RelayedTarget[];
  /**
   * Creates the row of the request log once the event has an ID; written together with the event, but not for a
   * repeat.
   */
  readonly request: (eventId: string) => ReceivedRequest;
}

/** A webhook that gets the relayed message, after a minimum delay. */
export interface RelayedTarget {
  readonly webhookId: string;
  readonly delayMs: number;
}

/** An event of Posthorn itself, for example that a webhook was disabled. */
export interface SystemEvent {
  readonly tenantId: string;
  /** Starts with `posthorn.`; only webhooks that name it (or `posthorn.*`) receive it. */
  readonly eventType: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Deliver only to this webhook, regardless of its subscriptions. */
  readonly onlyWebhookId: string | null;
  /** As with application events, a second event with the same key is ignored. */
  readonly idempotencyKey?: string;
  /** `data` is the whole body. */
  readonly isBare?: boolean;
  /** Origin of its delivery to `onlyWebhookId`; default `test`. */
  readonly origin?: DeliveryOrigin;
}
