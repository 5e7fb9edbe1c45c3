/**
 * What Posthorn offers to those who drive it: the HTTP API, the CLI and the library all call these and nothing else.
 *
 * Every method takes the scope of the caller. `tenantId: null` is an administrator; with a tenant set, rows of others
 * do not exist. Methods reject with the errors of core/errors.ts.
 */
import type { WebhookHealthState } from "../core/endpoint-health.ts";
import type { CircuitSnapshot } from "../core/circuit-breaker.ts";
import type { AttemptRecord, DeliveryStatus, WaitingFor } from "../core/delivery.ts";
import type { operationChangeFields } from "../core/fields/bulk.ts";
import type { ApiKeyInput } from "../core/fields/api-key.ts";
import type { deliveryFilterFields, deliveryListFields } from "../core/fields/delivery-list.ts";
import type { eventListFields } from "../core/fields/event-list.ts";
import type { InputOf } from "../core/fields/field.ts";
import type { webhookFilters } from "../core/fields/filters.ts";
import type { TenantInput } from "../core/fields/tenant.ts";
import type { WebhookInput } from "../core/fields/webhook.ts";
import type {
  circuitActionFields,
  deliveryRetryFields,
  incidentFields,
  pauseFields,
  recoverFields,
  replayFields,
  RetryBatchCommand,
  rotateFields,
  testFields,
} from "../core/fields/actions.ts";
import type { RetrySchedule } from "../core/profile.ts";
import type { Scope } from "../core/scope.ts";
import type { Webhook } from "../core/webhook.ts";
import type { Page, PageRequest } from "../ports/store.ts";
import type { StoredHistoryEntry, WebhookHistoryQuery } from "../ports/store/webhooks.ts";
import type { DeadLetterQuery, StoredDelivery, WaitingCount } from "../ports/store/history.ts";
import type { SearchedPage, SearchPageRequest } from "./searched-place.ts";
import type { BatchOperation } from "../ports/store/operations.ts";
import type { DeliveryView } from "../engine/endpoint/explain.ts";
import type { DeliveryProblems } from "./delivery-problems/delivery-problem-service.ts";
import type { RenderedRequest } from "../engine/attempt/rendered-request.ts";
import type { ApiKeyService, EventTypeService, TenantService } from "./registry-services.ts";
import type { AuditLog } from "./audit-service.ts";
import type { Events } from "./events/event-service.ts";
import type { Alerts } from "./alerts/alert-service.ts";
import type { NotificationChannels } from "./notifications/notification-channels.ts";
import type { NotificationDesk } from "./notifications/notification-desk.ts";
import type { LiveFeed } from "./live/live-feed.ts";
import type { BulkDeliveriesCommand, BulkStarted, DiscardCommand } from "./operations/bulk-views.ts";
import type { PortalLooks } from "./portal/portal-looks.ts";
import type { PortalSessions } from "./portal/portal-sessions.ts";
import type { Search } from "./search-service.ts";
import type { Statistics } from "./statistics/statistics-service.ts";
import type { UrlChecks } from "./webhooks/url-checks.ts";
import type { OpenCircuit } from "./webhooks/webhook-circuit.ts";
import type {
  WebhookBacklogView,
  WebhookHealthView,
  WebhookPublicKeyView,
  WebhookSecretView,
  WebhookView,
} from "./webhooks/webhook-views.ts";

export type {
  RenderedRequest,
  ApiKeyInput,
  DeliveryStatus,
  DeliveryView,
  RetryBatchCommand,
  Scope,
  TenantInput,
  WaitingFor,
  WebhookInput,
};
export type { VerificationInput } from "../core/fields/webhook.ts";
export type { RetryInput } from "../core/fields/webhook-retry.ts";
export type { ClientCertificateInput, OAuth2Input } from "../core/fields/webhook-credentials.ts";
export type * from "../engine/publish/publish-call.ts";
export type * from "./delivery-problems/delivery-problem-service.ts";
export type * from "./operations/bulk-views.ts";
export type * from "./registry-services.ts";
export type * from "./webhooks/webhook-views.ts";

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
  /** Null where none are kept. */
  readonly alerts: AlertService | null;
  /** Takes what is to be told to people; null where nothing is kept for them. */
  readonly desk: Pick<NotificationDesk, "enqueue"> | null;
  readonly urlChecks: UrlCheckService;
  readonly notifications: NotificationService | null;
  readonly portalSessions: PortalSessionService;
  readonly portalLooks: PortalLookService;
  readonly problems: ProblemService;
}

/** In webhooks/url-checks.ts. */
export type UrlCheckService = Pick<UrlChecks, keyof UrlChecks>;

// ---- portal ---------------------------------------------------------------------------------------------------

/** In portal/portal-sessions.ts. */
export type PortalSessionService = Pick<PortalSessions, keyof PortalSessions>;

/** In portal/portal-looks.ts. */
export type PortalLookService = Pick<PortalLooks, keyof PortalLooks>;

/** In alerts/alert-service.ts. */
export type AlertService = Pick<Alerts, keyof Alerts>;

/** Where people are told, in notifications/notification-channels.ts; null where nothing is kept for them. */
export type NotificationService = Pick<NotificationChannels, keyof NotificationChannels>;

// ---- audit log ------------------------------------------------------------------------------------------------

/** In audit-service.ts. */
export type AuditService = Pick<AuditLog, keyof AuditLog>;

// ---- live -----------------------------------------------------------------------------------------------------

/** In live/live-feed.ts. */
export type LiveService = Pick<LiveFeed, "watch" | "clients">;

/** What is counted of deliveries and events, over time. */
export type StatisticsService = Pick<Statistics, keyof Statistics>;

export type ProblemService = Pick<DeliveryProblems, keyof DeliveryProblems>;

// ---- search ---------------------------------------------------------------------------------------------------

/** In search-service.ts. */
export type SearchService = Pick<Search, keyof Search>;

export interface SearchHit {
  readonly type: "webhook" | "event" | "delivery" | "operation" | "source" | "connection";
  readonly id: string;
  readonly tenantId: string | null;
  /** A webhook's URL, the type of an event, the kind of an operation, the name of a source or of a connection. */
  readonly title: string;
  readonly matched: "id" | "idempotency_key" | "url" | "name" | "description";
}

// ---- events ---------------------------------------------------------------------------------------------------

/** In events/event-service.ts. */
export type EventService = Pick<Events, keyof Events>;

/** To the named webhooks, or to all that now subscribe to its type. */
export type ReplayCommand = { readonly eventId: string } & InputOf<typeof replayFields>;

/** Null is as good as left out. */
export type EventFilters = {
  readonly [Name in keyof InputOf<typeof eventListFields>]: InputOf<typeof eventListFields>[Name] | null;
};

export interface EventListQuery extends EventFilters {
  readonly page: SearchPageRequest;
}

/**
 * A webhook of the event's tenant: `reason` is null where the event was sent to it. `other_type`: it asks for other types.
 * `inactive`: it was not active, so its delivery was skipped. `made_later`: it did not exist yet. `changed_later`: it asks
 * for the type now, and got no delivery then.
 */
export interface EventMatch {
  readonly webhook: Webhook;
  /** The newest, where there are several. */
  readonly delivery: StoredDelivery | null;
  readonly reason: "other_type" | "inactive" | "made_later" | "changed_later" | null;
}

export interface EventMatchPage {
  readonly rows: readonly EventMatch[];
  /** Id of the last webhook, where there are more. */
  readonly next: string | null;
}

export interface DeliveryHandle {
  readonly deliveryId: string;
  readonly webhookId: string;
}

// ---- webhooks -------------------------------------------------------------------------------------------------

/** Null is as good as left out. */
export type WebhookFilters = {
  readonly [Name in keyof InputOf<typeof webhookFilters>]: InputOf<typeof webhookFilters>[Name] | null;
};

export interface WebhookListQuery extends WebhookFilters {
  readonly limit: number;
  readonly offset: number;
  /** `next` of the page before. */
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
  ): Promise<{
    readonly views: readonly WebhookView[];
    readonly next: string | null;
    /** False when there was no time to look at all that the order is about: those stand at the end. */
    readonly isComplete: boolean;
    /** Unix milliseconds: what failed last before was not looked at. Null where that tells nothing. */
    readonly searchedTo: number | null;
    /** When their order was found, Unix milliseconds; null where that is now. */
    readonly rankedAt: number | null;
    /** What `waitingOf` would answer, as it was counted for the order; null where the order is not by backlog. */
    readonly waiting: ReadonlyMap<string, WaitingCount | null> | null;
  }>;
  /** How many webhooks there are in each state of health, narrowed by all filters but those of their state. */
  healthCounts(scope: Scope, query: WebhookFilters): Promise<Readonly<Record<WebhookHealthState, number>>>;
  /** How much waits of each, null where there was no time to look; those without work are left out. */
  waitingOf(webhookIds: readonly string[]): Promise<ReadonlyMap<string, WaitingCount | null>>;
  update(scope: Scope, command: { readonly id: string; readonly input: WebhookInput }): Promise<WebhookView>;
  delete(scope: Scope, id: string): Promise<void>;
  /** Also ends a pause. */
  enable(scope: Scope, id: string): Promise<WebhookView>;
  /** Sends nothing until `until`, or `resume`; what is published meanwhile is kept and goes out then. */
  pause(scope: Scope, command: PauseCommand): Promise<WebhookView>;
  /** Ends a pause, by hand or asked for by an answer of the receiver. */
  resume(scope: Scope, id: string): Promise<WebhookView>;
  disable(scope: Scope, id: string): Promise<WebhookView>;
  health(scope: Scope, id: string): Promise<WebhookHealthView>;
  /** What waits, counted to 10,000. */
  backlog(scope: Scope, id: string): Promise<WebhookBacklogView>;
  /** What happened to it, or revisions of its configuration alone, newest first. */
  history(scope: Scope, query: WebhookHistoryQuery): Promise<Page<StoredHistoryEntry>>;
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
  confirmVerification(
    command: ConfirmVerificationCommand,
  ): Promise<{ readonly webhookId: string; readonly allowedRatePerMinute: number | null }>;
  /** What a receiver found wrong with messages that claim to be ours (TS16-81): logged, and announced to the owner. */
  reportIncident(scope: Scope, command: ReportIncidentCommand): Promise<{ readonly eventId: string }>;
  /** Publishes a `posthorn.test` event to this webhook alone, through the whole path. */
  test(
    scope: Scope,
    command: TestWebhookCommand,
  ): Promise<{ readonly eventId: string; readonly deliveryId: string }>;
  /** Delivers again what was dead-lettered or skipped since a time. With `dryRun` only counts. */
  recover(scope: Scope, command: RecoverCommand): Promise<RecoveryStarted>;
}

export interface RecoveryStarted {
  /** Null with `dryRun`. */
  readonly operation: BatchOperation | null;
  readonly count: number;
  /** The webhook, if its open circuit holds back what is sent again. */
  readonly openCircuits: readonly OpenCircuit[];
}

export type PauseCommand = { readonly id: string } & InputOf<typeof pauseFields>;
export type CircuitCommand = { readonly id: string } & InputOf<typeof circuitActionFields>;
export type RotateSecretCommand = { readonly id: string } & InputOf<typeof rotateFields>;
export type TestWebhookCommand = { readonly id: string } & InputOf<typeof testFields>;
/** `states` are exhausted and skipped when left out. */
export type RecoverCommand = { readonly id: string } & InputOf<typeof recoverFields>;
/** Times are Unix milliseconds. */
export type ReportIncidentCommand = { readonly id: string } & InputOf<typeof incidentFields>;

export interface ConfirmVerificationCommand {
  readonly id: string;
  readonly key: string;
  readonly allowedRate: string | null;
}

// ---- deliveries -----------------------------------------------------------------------------------------------

export interface DeliveryService {
  get(
    scope: Scope,
    id: string,
  ): Promise<{ readonly view: DeliveryView; readonly attempts: readonly AttemptRecord[] }>;
  /** Of everything that the caller may see; a page ends with its budget. */
  list(scope: Scope, query: DeliveryListQuery): Promise<DeliveryPage>;
  /** Rejects with `not_found` for a webhook that the caller cannot see. */
  listOfWebhook(scope: Scope, query: DeliveriesOfWebhookQuery): Promise<DeliveryPage>;
  /** The request of an attempt, made again. Rejects with `payload_gone` once retention removed what was published. */
  request(scope: Scope, attempt: AttemptName): Promise<RenderedRequest>;
  /**
   * Sends it again, due at once: the same delivery, with its attempts so far. One that succeeded stays as it is, and a copy
   * of it goes out.
   */
  retry(scope: Scope, command: RetryDeliveryCommand): Promise<RetriedDelivery>;
  /** As `retry`, of many. */
  retryBatch(scope: Scope, command: BulkDeliveriesCommand): Promise<BulkStarted>;
  /** Ends what waits, so that it is not sent. */
  cancelBatch(scope: Scope, command: Omit<BulkDeliveriesCommand, "priority">): Promise<BulkStarted>;
}

/** What was sent again, and what holds it now. */
export interface RetriedDelivery extends DeliveryHandle {
  /** The delivery that succeeded before and that this one copies; null where the delivery itself goes out again. */
  readonly replayOf: string | null;
  readonly status: DeliveryView["status"];
  readonly waitingFor: DeliveryView["waitingFor"];
  /** Unix milliseconds. */
  readonly waitingUntil: number | null;
}

export interface AttemptName {
  readonly deliveryId: string;
  /** From 1. */
  readonly number: number;
}

export type RetryDeliveryCommand = { readonly webhookId: string; readonly deliveryId: string } & InputOf<
  typeof deliveryRetryFields
>;

/** Null is as good as left out. */
export type DeliveryFilters = {
  readonly [Name in keyof InputOf<typeof deliveryListFields>]:
    | InputOf<typeof deliveryListFields>[Name]
    | null;
};

/** Of one webhook, or of one event. */
export type DeliveryFiltersWithin = Pick<DeliveryFilters, keyof typeof deliveryFilterFields>;

export type DeliveriesOfWebhookQuery = DeliveryFiltersWithin & {
  readonly webhookId: string;
  readonly page: SearchPageRequest;
};

export interface DeliveryListQuery extends DeliveryFilters {
  readonly page: SearchPageRequest;
}

/** A view in a list, with the webhook as it is now; null when that was deleted. */
export interface ListedDelivery extends DeliveryView {
  readonly webhook: Webhook | null;
  /** Null without one. */
  readonly webhookHealth: WebhookHealthState | null;
}

export type DeliveryPage = SearchedPage<ListedDelivery>;

export type ChangeOperationCommand = { readonly id: string } & InputOf<typeof operationChangeFields>;

export interface DeadLetterService {
  list(scope: Scope, query: DeadLetterQuery): Promise<Page<DeliveryView>>;
  retryBatch(scope: Scope, command: RetryBatchCommand): Promise<RetryBatchStarted>;
  /** Takes dead letters out of their queue for good; they stay in the history. */
  discardBatch(scope: Scope, command: DiscardCommand): Promise<BulkStarted>;
  /** Bulk work, newest first. */
  operationList(scope: Scope, page: PageRequest): Promise<Page<BatchOperation>>;
  operation(scope: Scope, id: string): Promise<BatchOperation>;
  cancel(scope: Scope, id: string): Promise<BatchOperation>;
  /** Another rate, a pause and its end. */
  change(scope: Scope, command: ChangeOperationCommand): Promise<BatchOperation>;
}

export interface RetryBatchStarted {
  /** Null with `dryRun`. */
  readonly operation: BatchOperation | null;
  readonly count: number;
  /** Webhooks of these dead letters that are not active: what is retried there waits until they are. */
  readonly inactive: readonly InactiveWebhook[];
  /** Webhooks whose open circuit holds back what is retried there. */
  readonly openCircuits: readonly OpenCircuit[];
}

export interface InactiveWebhook {
  readonly webhookId: string;
  readonly status: Exclude<Webhook["status"], "active">;
  /** Dead letters of the selection. */
  readonly count: number;
}

/** Kept here so that API and CLI name schedules alike. */
export type { RetrySchedule };
