/** The input and output types of publishing. */
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

/**
 * One event to publish. `data` and `metadata` may also be given as JSON text, or as parsed JSON together with its text.
 */
export interface PublishInput {
  readonly eventType: string;
  /** An object; omit it if `dataJson` or `raw` is given. Sent as serialized by `JSON.stringify`. */
  readonly data?: unknown;
  /** JSON text that replaces `data` and is sent unchanged. */
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
  /** JSON text that replaces `metadata` and is sent unchanged. */
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
  /** Number of deliveries that are not written yet but soon will be; absent if all are written. */
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
  /** The target webhooks, regardless of their subscriptions. Missing or deleted webhooks are skipped. */
  readonly targets: readonly RelayedTarget[];
  /**
   * Creates the request log row once the event has an ID. The row is written together with the event; a repeat writes
   * none.
   */
  readonly request: (eventId: string) => ReceivedRequest;
}

/** A webhook that receives the relayed message, after a minimum delay. */
export interface RelayedTarget {
  readonly webhookId: string;
  readonly delayMs: number;
}

/** An event of Posthorn itself, such as that a webhook was disabled. */
export interface SystemEvent {
  readonly tenantId: string;
  /** Starts with `posthorn.`. Only webhooks that subscribe to it by name (or to `posthorn.*`) receive it. */
  readonly eventType: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** If set, the event is delivered only to this webhook, regardless of its subscriptions. */
  readonly onlyWebhookId: string | null;
  /** A second event with the same key is ignored, as for application events. */
  readonly idempotencyKey?: string;
  /** Whether `data` is the whole body. */
  readonly isBare?: boolean;
  /** Origin of the delivery to `onlyWebhookId`; `test` by default. */
  readonly origin?: DeliveryOrigin;
}
