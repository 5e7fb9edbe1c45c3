/**
 * The service interfaces that the HTTP API, the CLI and the library use. Every method takes the caller's scope.
 * `tenantId: null` is an administrator; for a tenant, rows of other tenants do not exist. Methods reject with the
 * errors of domain/errors.ts.
 */

import type { CircuitSnapshot } from "../domain/circuit-breaker.ts";
import type { DeliveryStatus, WaitingFor } from "../domain/delivery.ts";
import type { DeliveryPolicy } from "../domain/delivery-policy.ts";
import type { UrlRules } from "../domain/egress/url-policy.ts";
import type { PauseReason, WebhookHealthState } from "../domain/endpoint-health.ts";
import type { DeliveryGate } from "../domain/gate-explanation.ts";
import type { RetrySchedule } from "../domain/profile.ts";
import type { PortalScope, Scope } from "../domain/scope.ts";
import type { Webhook, WebhookPause, WebhookStatus } from "../domain/webhook.ts";
import type { RenderedRequest } from "../engine/attempt/attempts.ts";
import type { DeliveryView } from "../engine/endpoint/explain.ts";
import type { EngineAccess } from "../engine/engine-access.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { AttemptStats, Backlog, StoredDelivery } from "../ports/store/history.ts";
import type { BatchOperation, ExclusionCounts, OperationSelection } from "../ports/store/operations.ts";
import type { Store } from "../ports/store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type {
  circuitActionFields,
  deliveryRetryFields,
  incidentFields,
  pauseFields,
  RetryBatchCommand,
  recoverFields,
  replayFields,
  rotateFields,
  testFields,
} from "../resources/actions.ts";
import type { ApiKeyInput, ApiKeyRole } from "../resources/api-key.ts";
import type { deliveryFilterFields, deliveryListFields } from "../resources/delivery.ts";
import type { eventListFields } from "../resources/event.ts";
import type { EventTypeInput, EventTypeName } from "../resources/event-type.ts";
import type { InputOf } from "../resources/field.ts";
import type { discardFields, operationChangeFields, retryDeliveriesFields } from "../resources/operation.ts";
import type { TenantInput } from "../resources/tenant.ts";
import type { WebhookInput, webhookFilters } from "../resources/webhook.ts";
import type { Alerts } from "./alerts/alert-service.ts";
import type { AuditLog } from "./audit/audit-service.ts";
import type { DeadLetters } from "./deliveries/dead-letter-service.ts";
import type { Deliveries } from "./deliveries/delivery-service.ts";
import type { EventTypes } from "./event-types/event-type-service.ts";
import type { Events } from "./events/event-service.ts";
import type { LiveFeed } from "./live/live-feed.ts";
import type { NotificationChannels } from "./notifications/notification-channels.ts";
import type { PortalLooks } from "./portal/portal-looks.ts";
import type { PortalSessions } from "./portal/portal-sessions.ts";
import type { DeliveryProblems } from "./problems/problem-service.ts";
import type { Search } from "./search/search-service.ts";
import type { SearchedPage, SearchPageRequest } from "./searched-pages.ts";
import type { Statistics } from "./statistics/statistics-service.ts";
import type { ApiKeys } from "./tenants/api-key-service.ts";
import type { TenantDirectory, Tenants } from "./tenants/tenant-service.ts";
import type { UrlChecks } from "./verification/outside-calls.ts";
import type { OpenCircuit } from "./webhooks/webhook-circuit.ts";
import type { Webhooks } from "./webhooks/webhook-service.ts";

export type * from "../engine/publish/publish-call.ts";
export type {
  ClientCertificateInput,
  OAuth2Input,
  RetryInput,
  VerificationInput,
} from "../resources/webhook-parts.ts";
export type * from "./problems/problem-service.ts";
export type {
  ApiKeyInput,
  DeliveryStatus,
  DeliveryView,
  EventTypeInput,
  EventTypeName,
  RenderedRequest,
  RetryBatchCommand,
  Scope,
  TenantInput,
  WaitingFor,
  WebhookInput,
};
/** Dependencies that all services share. */
export interface FeatureContext {
  readonly access: EngineAccess;
  readonly store: Store;
  readonly tenants: TenantDirectory;
  readonly clock: Clock;
  readonly random: Random;
  readonly secretBox: SecretBox;
  readonly telemetry: Telemetry;
  readonly urlRules: UrlRules;
}

/** The public members of a class. */
type Public<Class> = Pick<Class, keyof Class>;

export type TenantService = Public<Tenants>;
export type EventTypeService = Public<EventTypes>;
export type UrlCheckService = Public<UrlChecks>;
export type PortalSessionService = Public<PortalSessions>;
export type PortalLookService = Public<PortalLooks>;
export type AlertService = Public<Alerts>;
export type NotificationService = Public<NotificationChannels>;
export type AuditService = Public<AuditLog>;
export type StatisticsService = Public<Statistics>;
export type ProblemService = Public<DeliveryProblems>;
export type SearchService = Public<Search>;
export type EventService = Public<Events>;
export type WebhookService = Public<Webhooks>;
export type DeliveryService = Public<Deliveries>;
export type DeadLetterService = Public<DeadLetters>;
export type ApiKeyService = Omit<ApiKeys, "load">;
export type LiveService = Pick<LiveFeed, "watch" | "clients">;

export interface Services {
  readonly events: EventService;
  readonly webhooks: WebhookService;
  readonly deliveries: DeliveryService;
  readonly deadLetters: DeadLetterService;
  readonly eventTypes: EventTypeService;
  readonly tenants: TenantService;
  readonly apiKeys: ApiKeyService;
  readonly search: SearchService;
  readonly live: LiveService;
  readonly audit: AuditService;
  readonly statistics: StatisticsService;
  readonly alerts: AlertService;
  readonly urlChecks: UrlCheckService;
  readonly notifications: NotificationService;
  readonly portalSessions: PortalSessionService;
  readonly portalLooks: PortalLookService;
  readonly problems: ProblemService;
}

/** The caller: the owner of a key or, with `portal` and the role `session`, a customer. */
export interface Principal {
  /** Id of the key or session. */
  readonly keyId: string;
  readonly role: ApiKeyRole | "session";
  readonly tenantId: string | null;
  readonly portal?: PortalScope;
}

export interface SearchHit {
  readonly type: "webhook" | "event" | "delivery" | "operation" | "source" | "connection";
  readonly id: string;
  readonly tenantId: string | null;
  /** The URL of a webhook, the type of an event, the kind of an operation, or the name of a source or connection. */
  readonly title: string;
  readonly matched: "id" | "idempotency_key" | "url" | "name" | "description";
}

/** A replay of an event to the given webhooks, or to all webhooks that now subscribe to its type. */
export type ReplayCommand = { readonly eventId: string } & InputOf<typeof replayFields>;

/** Null means that the value is omitted. */
export type EventFilters = {
  readonly [Name in keyof InputOf<typeof eventListFields>]: InputOf<typeof eventListFields>[Name] | null;
};

export interface EventListQuery extends EventFilters {
  readonly page: SearchPageRequest;
}

/**
 * A webhook of the event's tenant. `reason` is null if the event was sent to the webhook. `other_type`: the webhook
 * does not subscribe to the type. `inactive`: the webhook was not active, so its delivery was skipped. `made_later`:
 * the webhook was created after the event was published. `changed_later`: the webhook subscribed to the type after the
 * event was published.
 */
export interface EventMatch {
  readonly webhook: Webhook;
  /** The latest delivery if there are several. */
  readonly delivery: StoredDelivery | null;
  readonly reason: "other_type" | "inactive" | "made_later" | "changed_later" | null;
}

export interface EventMatchPage {
  readonly rows: readonly EventMatch[];
  /** Id of the last webhook of the page; null if this is the last page. */
  readonly next: string | null;
}

export interface DeliveryHandle {
  readonly deliveryId: string;
  readonly webhookId: string;
}

/** Null means that the value is omitted. */
export type WebhookFilters = {
  readonly [Name in keyof InputOf<typeof webhookFilters>]: InputOf<typeof webhookFilters>[Name] | null;
};

export interface WebhookListQuery extends WebhookFilters {
  readonly limit: number;
  readonly offset: number;
  /** The value of `next` from the previous page. */
  readonly after: string | null;
}

export interface RecoveryStarted {
  /** Null if `dryRun` is set, because no operation was started. */
  readonly operation: BatchOperation | null;
  readonly count: number;
  /** The webhook, if its open circuit delays the retried deliveries. */
  readonly openCircuits: readonly OpenCircuit[];
}

export type PauseCommand = { readonly id: string } & InputOf<typeof pauseFields>;
export type CircuitCommand = { readonly id: string } & InputOf<typeof circuitActionFields>;
export type RotateSecretCommand = { readonly id: string } & InputOf<typeof rotateFields>;
export type TestWebhookCommand = { readonly id: string } & InputOf<typeof testFields>;
/** `states` defaults to `exhausted` and `skipped`. */
export type RecoverCommand = { readonly id: string } & InputOf<typeof recoverFields>;
/** Times are Unix milliseconds. */
export type ReportIncidentCommand = { readonly id: string } & InputOf<typeof incidentFields>;

export interface VerificationConfirmed {
  readonly webhookId: string;
  readonly allowedRatePerMinute: number | null;
}

export interface ConfirmVerificationCommand {
  readonly id: string;
  readonly key: string;
  readonly allowedRate: string | null;
}

/** The delivery to be sent, and the gate that currently delays it. */
export interface RetriedDelivery extends DeliveryHandle {
  /** The successful delivery that this one copies; null if the delivery itself is sent again. */
  readonly replayOf: string | null;
  readonly status: DeliveryView["status"];
  readonly waitingFor: DeliveryView["waitingFor"];
  /** Unix milliseconds. */
  readonly waitingUntil: number | null;
}

export interface AttemptName {
  readonly deliveryId: string;
  /** Starts at 1. */
  readonly number: number;
}

export type RetryDeliveryCommand = { readonly webhookId: string; readonly deliveryId: string } & InputOf<
  typeof deliveryRetryFields
>;

/** Null means that the value is omitted. */
export type DeliveryFilters = {
  readonly [Name in keyof InputOf<typeof deliveryListFields>]:
    | InputOf<typeof deliveryListFields>[Name]
    | null;
};

/** Filters for the deliveries of one webhook or one event. */
export type DeliveryFiltersWithin = Pick<DeliveryFilters, keyof typeof deliveryFilterFields>;

export type DeliveriesOfWebhookQuery = DeliveryFiltersWithin & {
  readonly webhookId: string;
  readonly page: SearchPageRequest;
};

export interface DeliveryListQuery extends DeliveryFilters {
  readonly page: SearchPageRequest;
}

/** A delivery in a list, with its current webhook; null if the webhook was deleted. */
export interface ListedDelivery extends DeliveryView {
  readonly webhook: Webhook | null;
  /** Null without a webhook. */
  readonly webhookHealth: WebhookHealthState | null;
}

export type DeliveryPage = SearchedPage<ListedDelivery>;

export type ChangeOperationCommand = { readonly id: string } & InputOf<typeof operationChangeFields>;

export interface RetryBatchStarted {
  /** Null if `dryRun` is set, because no operation was started. */
  readonly operation: BatchOperation | null;
  readonly count: number;
  /** Inactive webhooks of these dead letters. Retried deliveries wait until their webhook is active. */
  readonly inactive: readonly InactiveWebhook[];
  /** Webhooks whose open circuit delays the retried deliveries. */
  readonly openCircuits: readonly OpenCircuit[];
}

export interface InactiveWebhook {
  readonly webhookId: string;
  readonly status: Exclude<Webhook["status"], "active">;
  /** Number of dead letters in the selection. */
  readonly count: number;
}

/** Exported here so that API and CLI use the same names for schedules. */
export type { RetrySchedule };

/** A webhook with its effective policy and the state of its endpoint. Never contains a secret. */
export interface WebhookView {
  readonly webhook: Webhook;
  readonly policy: DeliveryPolicy;
  readonly health: WebhookHealthState;
  /** The current manual pause. */
  readonly pause: WebhookPause | null;
  readonly lastSuccessAt: number | null;
  readonly lastFailedAt: number | null;
  readonly hasBearerToken: boolean;
  /** Secret headers are listed by name only. */
  readonly credentialHeaderNames: readonly string[];
  readonly clientCertificate: ClientCertificateView | null;
  /** The DNS record that the owner must publish for the method `dns`. */
  readonly dnsRecord: { readonly name: string; readonly value: string } | null;
  /** `whsec_…`, masked except for the last four characters. */
  readonly secretHint: string | null;
  /** End of a manual circuit opening (WDS-58); null if the circuit was not opened manually. */
  readonly forcedOpenUntil: number | null;
}

/** The visible parts of a certificate, without its key. */
export interface ClientCertificateView {
  readonly subject: string;
  readonly issuer: string;
  /** SHA-256 in hexadecimal with colons. */
  readonly fingerprint: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /** Set if the certificate has expired or will expire within two weeks. */
  readonly warning: string | null;
}

export interface WebhookSecretView {
  /** Current symmetric secret, `whsec_…`; null for a webhook that signs only with `v1a`. */
  readonly secret: string | null;
  /** The previous secret during the overlap of a graceful rotation. */
  readonly previous: { readonly secret: string; readonly expiresAt: number } | null;
}

export interface WebhookPublicKeyView {
  readonly publicKey: string;
  readonly jwk: Readonly<Record<string, string>>;
}

export interface WebhookHealthView {
  readonly webhookId: string;
  readonly health: WebhookHealthState;
  readonly status: WebhookStatus;
  readonly statusReason: string | null;
  readonly circuit: CircuitSnapshot;
  readonly pausedUntil: number | null;
  readonly pauseReason: PauseReason | null;
  /** The gates that currently hold its deliveries. */
  readonly gates: readonly DeliveryGate[];
  readonly inFlight: number;
  readonly stats: AttemptStats;
  readonly statsSince: number;
  readonly lastSuccessAt: number | null;
  /**
   * When the webhook will be disabled unless a delivery is accepted before that time; null if no such deadline applies.
   */
  readonly disablesAt: number | null;
}

export interface WebhookBacklogView extends Backlog {
  readonly webhookId: string;
  /** Total over all priorities, up to the counting limit. */
  readonly total: number;
  /** Accepted deliveries per second over the last five minutes. */
  readonly perSecond: number;
  /** Time to drain the backlog at that rate; null if unknown. */
  readonly drainMs: number | null;
}

/** Takes either `filter` or `ids`. `to` defaults to the time of the call. */
export type BulkDeliveriesCommand = InputOf<typeof retryDeliveriesFields>;
export type DiscardCommand = InputOf<typeof discardFields>;

export interface BulkStarted {
  /** Null if `dryRun` is set, because no operation was started. */
  readonly operation: BatchOperation | null;
  /** Number of deliveries to process. */
  readonly count: number;
  /** False if counting stopped at its limit and there are more deliveries. */
  readonly isExact: boolean;
  /** The oldest deliveries of the selection, up to five. */
  readonly samples: readonly ListedDelivery[];
  readonly excluded: ExclusionCounts;
  /** Webhooks whose open circuit delays deliveries that are sent again. */
  readonly openCircuits: readonly OpenCircuit[];
  /** The selection with absolute times. */
  readonly selection: OperationSelection;
  readonly requestsPerSecond: number;
  /** Null if the count is not exact. */
  readonly durationMs: number | null;
}
