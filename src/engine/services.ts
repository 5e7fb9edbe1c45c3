/**
 * What Posthorn offers to those who drive it: the HTTP API, the CLI and the library all call these and nothing else.
 *
 * Every method takes the scope of the caller. `tenantId: null` is an administrator; with a tenant set, rows of others
 * do not exist. Methods reject with the errors of core/errors.ts.
 */
import type { CircuitSnapshot } from "../core/circuit-breaker.ts";
import type { AttemptRecord, DeliveryState, Priority, DeliveryWait, GateName } from "../core/delivery.ts";
import type { PosthornError } from "../core/errors.ts";
import type { EventLink } from "../core/event.ts";
import type { ApiKeyInput } from "../core/fields/api-key.ts";
import type { EventTypeFields } from "../core/fields/event-type.ts";
import type { InputOf } from "../core/fields/field.ts";
import type { TenantInput } from "../core/fields/tenant.ts";
import type {
  circuitActionFields,
  deliveryRetryFields,
  incidentFields,
  recoverFields,
  RetryBatchCommand,
  rotateFields,
  testFields,
} from "../core/fields/actions.ts";
import type { JsonText } from "../core/json/json-text.ts";
import type { RetrySchedule } from "../core/profile.ts";
import type { Webhook } from "../core/webhook.ts";
import type { Page, PageRequest } from "../ports/store.ts";
import type { DeadLetterQuery, StoredDelivery } from "../ports/store/history.ts";
import type { BatchOperation } from "../ports/store/operations.ts";
import type {
  ApiKey,
  ApiKeyRole,
  EventType,
  EventTypeKey,
  EventTypePage,
  Tenant,
} from "../ports/store/registry.ts";
import type { Events } from "./management/event-service.ts";
import type { WebhookInput } from "./webhook-inputs.ts";
import type {
  WebhookHealthView,
  WebhookPublicKeyView,
  WebhookSecretView,
  WebhookView,
} from "./webhook-views.ts";

export type { ApiKeyInput, RetryBatchCommand, TenantInput };
export type * from "./webhook-inputs.ts";
export type * from "./webhook-views.ts";

export interface Scope {
  readonly tenantId: string | null;
}

export interface Services {
  readonly events: EventService;
  readonly webhooks: WebhookService;
  readonly deliveries: DeliveryService;
  readonly deadLetters: DeadLetterService;
  readonly eventTypes: EventTypeService;
  readonly tenants: TenantService;
  readonly apiKeys: ApiKeyService;
}

// ---- events ---------------------------------------------------------------------------------------------------

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
}

export interface PublishReceipt {
  readonly id: string;
  readonly eventType: string;
  readonly tenantId: string;
  readonly timestamp: number;
  /** The publisher's key, or the event's id when none was given. */
  readonly idempotencyKey: string;
  readonly sequenceNumber: number;
  readonly deliveries: number;
  readonly duplicate: boolean;
}

/** One entry of a batch: a receipt, or the error that this event alone met. */
export type PublishEntry =
  | { readonly kind: "published"; readonly receipt: PublishReceipt }
  | { readonly kind: "refused"; readonly error: PosthornError };

/** In management/event-service.ts. */
export type EventService = Pick<Events, keyof Events>;

export interface EventListQuery {
  readonly eventType: string | null;
  readonly from: number | null;
  readonly to: number | null;
  readonly tenantId: string | null;
  readonly page: PageRequest;
}

export interface DeliveryHandle {
  readonly deliveryId: string;
  readonly webhookId: string;
}

// ---- webhooks -------------------------------------------------------------------------------------------------

export interface WebhookListQuery {
  readonly active: boolean | null;
  readonly eventType: string | null;
  readonly tenantId: string | null;
  readonly limit: number;
  readonly offset: number;
  /** Id of the last webhook of the page before. */
  readonly after: string | null;
}

export interface WebhookService {
  create(
    scope: Scope,
    input: WebhookInput,
  ): Promise<{ readonly view: WebhookView; readonly secret: string | null }>;
  get(scope: Scope, id: string): Promise<WebhookView>;
  list(
    scope: Scope,
    query: WebhookListQuery,
  ): Promise<{ readonly views: readonly WebhookView[]; readonly next: string | null }>;
  update(scope: Scope, command: { readonly id: string; readonly input: WebhookInput }): Promise<WebhookView>;
  delete(scope: Scope, id: string): Promise<void>;
  /** Also ends a pause. */
  enable(scope: Scope, id: string): Promise<WebhookView>;
  /** Ends the pause that an answer of the receiver asked for. */
  resume(scope: Scope, id: string): Promise<WebhookView>;
  disable(scope: Scope, id: string): Promise<WebhookView>;
  health(scope: Scope, id: string): Promise<WebhookHealthView>;
  circuit(scope: Scope, command: CircuitCommand): Promise<CircuitSnapshot>;
  secret(scope: Scope, id: string): Promise<WebhookSecretView>;
  rotateSecret(scope: Scope, command: RotateSecretCommand): Promise<WebhookSecretView>;
  publicKey(scope: Scope, id: string): Promise<WebhookPublicKeyView>;
  /** Asks the receiver, or the name servers, again. Rejects with `conflict` when no method is set. */
  verify(scope: Scope, id: string): Promise<WebhookView>;
  /**
   * Permission through the callback URL of a handshake (CEW-4.1.3-3). There is no scope: whoever holds the key may. Any
   * other id, key or time rejects with the same `not_found`. `allowedRate` is the `WebHook-Allowed-Rate` that came along.
   */
  confirmVerification(command: {
    readonly id: string;
    readonly key: string;
    readonly allowedRate: string | null;
  }): Promise<{ readonly webhookId: string; readonly allowedRatePerMinute: number | null }>;
  /** What a receiver found wrong with messages that claim to be ours (TS16-81): logged, and announced to the owner. */
  reportIncident(scope: Scope, command: ReportIncidentCommand): Promise<{ readonly eventId: string }>;
  /** Publishes a `posthorn.test` event to this webhook alone, through the whole path. */
  test(
    scope: Scope,
    command: { readonly id: string } & InputOf<typeof testFields>,
  ): Promise<{ readonly eventId: string; readonly deliveryId: string }>;
  /** Delivers again what was dead-lettered or skipped since a time. With `dryRun` only counts. */
  recover(
    scope: Scope,
    command: RecoverCommand,
  ): Promise<{ readonly operation: BatchOperation | null; readonly count: number }>;
}

export type CircuitCommand = { readonly id: string } & InputOf<typeof circuitActionFields>;
export type RotateSecretCommand = { readonly id: string } & InputOf<typeof rotateFields>;
/** `states` are exhausted and skipped when left out. */
export type RecoverCommand = { readonly id: string } & InputOf<typeof recoverFields>;
/** Times are Unix milliseconds. */
export type ReportIncidentCommand = { readonly id: string } & InputOf<typeof incidentFields>;

// ---- deliveries -----------------------------------------------------------------------------------------------

/** Status as the API shows it (design, decision 5). */
export type DeliveryStatus = DeliveryState | "circuit_blocked";

/** What a waiting delivery waits for. */
export type WaitingFor = "schedule" | GateName | "concurrency" | "capacity" | "in_flight";

export interface DeliveryView {
  readonly delivery: StoredDelivery;
  readonly status: DeliveryStatus;
  /** Null unless it waits. */
  readonly waitingFor: WaitingFor | null;
  /** Unix milliseconds; null when nobody can tell. */
  readonly waitingUntil: number | null;
  readonly nextAttemptAt: number | null;
  /** The gates that have held it since it was due. What held earlier attempts stands in their notes. */
  readonly waits: readonly DeliveryWait[];
}

export interface DeliveryService {
  get(
    scope: Scope,
    id: string,
  ): Promise<{ readonly view: DeliveryView; readonly attempts: readonly AttemptRecord[] }>;
  list(scope: Scope, query: DeliveryListQuery): Promise<Page<DeliveryView>>;
  /** A new delivery of the same event (C-40); a waiting one is superseded. */
  retry(
    scope: Scope,
    command: { readonly webhookId: string; readonly deliveryId: string } & InputOf<
      typeof deliveryRetryFields
    >,
  ): Promise<DeliveryHandle>;
}

export interface DeliveryListQuery {
  readonly webhookId: string;
  readonly status: DeliveryStatus | null;
  readonly from: number | null;
  readonly to: number | null;
  readonly page: PageRequest;
}

export interface DeadLetterService {
  list(scope: Scope, query: DeadLetterQuery): Promise<Page<DeliveryView>>;
  retryBatch(scope: Scope, command: RetryBatchCommand): Promise<RetryBatchStarted>;
  operation(scope: Scope, id: string): Promise<BatchOperation>;
  cancel(scope: Scope, id: string): Promise<BatchOperation>;
}

export interface RetryBatchStarted {
  /** Null with `dryRun`. */
  readonly operation: BatchOperation | null;
  readonly count: number;
  /** Webhooks of these dead letters that are not active: what is retried there waits until they are. */
  readonly inactive: readonly InactiveWebhook[];
}

export interface InactiveWebhook {
  readonly webhookId: string;
  readonly status: Exclude<Webhook["status"], "active">;
  /** Dead letters of the selection. */
  readonly count: number;
}

// ---- registry -------------------------------------------------------------------------------------------------

export interface EventTypeService {
  /** By tenant and name. A page ends after `limit` rows (50) or about a megabyte; `next` is the `after` of the next. */
  list(scope: Scope, query: EventTypeListQuery): Promise<EventTypePage>;
  get(scope: Scope, query: { readonly tenantId: string | null; readonly name: string }): Promise<EventType>;
  put(
    scope: Scope,
    command: EventTypeInput,
  ): Promise<{ readonly eventType: EventType; readonly created: boolean }>;
  delete(scope: Scope, query: { readonly tenantId: string | null; readonly name: string }): Promise<void>;
}

export interface EventTypeListQuery {
  readonly tenantId: string | null;
  readonly limit?: number;
  readonly offset?: number;
  readonly after?: EventTypeKey | null;
}

export interface EventTypeInput extends EventTypeFields {
  readonly tenantId: string | null;
  readonly name: string;
}

export interface TenantService {
  list(scope: Scope): Promise<readonly Tenant[]>;
  get(scope: Scope, id: string): Promise<Tenant>;
  /** Creates or merges. */
  put(
    scope: Scope,
    command: { readonly id: string; readonly input: TenantInput },
  ): Promise<{ readonly tenant: Tenant; readonly created: boolean }>;
}

export interface ApiKeyService {
  /** The key's holder, or null. Constant-time in the key. */
  authenticate(presentedKey: string): Principal | null;
  create(scope: Scope, input: ApiKeyInput): Promise<{ readonly apiKey: ApiKey; readonly key: string }>;
  list(scope: Scope): Promise<readonly ApiKey[]>;
  revoke(scope: Scope, id: string): Promise<void>;
}

export interface Principal {
  readonly keyId: string;
  readonly role: ApiKeyRole;
  readonly tenantId: string | null;
}

/** Kept here so that API and CLI name schedules alike. */
export type { RetrySchedule };
