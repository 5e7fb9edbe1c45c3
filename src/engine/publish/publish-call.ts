/** What publishing takes and answers. */
import type { DeliveryOrigin, Priority } from "../../core/delivery.ts";
import type { PosthornError } from "../../core/errors.ts";
import type { Relayed } from "../../core/gateway/relayed.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import type { EventLink } from "../../core/event.ts";
import type { JsonText } from "../../core/json/json-text.ts";

/** A payload of any media type, delivered byte for byte (EDS-2-1, TS16-41). */
export interface RawContent {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** `data` and `metadata` may also be JSON that was read already, with its text. */
export interface PublishInput {
  readonly eventType: string;
  /** An object; left out when `dataJson` or `raw` is given. Sent as `JSON.stringify` writes it. */
  readonly data?: unknown;
  /** Instead of `data`: its JSON text, which is sent as it is. */
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
  /** Instead of `metadata`: its JSON text, which is sent as it is. */
  readonly metadataJson?: string;
  readonly links?: readonly EventLink[];
  /** Where in the publisher's trace this happens (W3C Trace Context); webhooks get it with every request. */
  readonly traceparent?: string;
  /** What vendors keep beside it; sent on to webhooks that agreed to it. */
  readonly tracestate?: string;
}

export interface PublishReceipt {
  readonly id: string;
  readonly eventType: string;
  readonly tenantId: string;
  readonly timestamp: number;
  /** The publisher's key, or the event's id when none was given. */
  readonly idempotencyKey: string;
  readonly sequenceNumber: number;
  /** In all. */
  readonly deliveries: number;
  /** Of them, how many are written in the next moments; absent where all are. */
  readonly deliveriesFollowing?: number;
  readonly duplicate: boolean;
}

/** One entry of a batch: a receipt, or the error that this event alone met. */
export type PublishEntry =
  | { readonly kind: "published"; readonly receipt: PublishReceipt }
  | { readonly kind: "refused"; readonly error: PosthornError };

/** What the gateway received and verified. */
export interface RelayedEvent {
  readonly tenantId: string;
  readonly eventType: string;
  readonly raw: RawContent;
  /** Name of the source, for people. */
  readonly source: string;
  readonly relayed: Relayed;
  /** Stands for the request; a repeat with the same body is the same event. */
  readonly key: string;
  /** How long the key is remembered. */
  readonly dedupMs: number;
  /** Whom it goes to, whatever they subscribed to. Those that do not exist (any more) are passed over. */
  readonly targets: readonly RelayedTarget[];
  /** What the log of requests says of it, as soon as it has an id; written with it, and with nothing that is a repeat. */
  readonly request: (eventId: string) => ReceivedRequest;
}

/** A webhook that gets what was relayed, at the earliest after a while. */
export interface RelayedTarget {
  readonly webhookId: string;
  readonly delayMs: number;
}

/** Of Posthorn itself, such as a webhook that was disabled. */
export interface SystemEvent {
  readonly tenantId: string;
  /** Starts with `posthorn.`; only webhooks that name it (or `posthorn.*`) receive it. */
  readonly eventType: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Deliver to this webhook alone, whatever it subscribed to. */
  readonly onlyWebhookId: string | null;
  /** As with what applications publish: a second one of the key is none. */
  readonly idempotencyKey?: string;
  /** `data` is the whole body. */
  readonly isBare?: boolean;
  /** That of its deliveries to `onlyWebhookId`; `test` when left out. */
  readonly origin?: DeliveryOrigin;
}
