import type { UrlRules } from "../domain/egress/url-policy.ts";
import { statisticsKeptMsDefault, type StatisticsStep } from "../domain/statistics/counts.ts";
import { Leaderships } from "../engine/cluster/leaderships.ts";
import type { EngineAccess } from "../engine/engine-access.ts";
import type { Publisher } from "../engine/publish/publish.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { SchemaCompiler } from "../ports/schema-compiler.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { Store } from "../ports/store.ts";
import type { StoreChanges } from "../ports/store/changes.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { Alerts } from "./alerts/alert-service.ts";
import { AlertWatch } from "./alerts/alert-watch.ts";
import type { AlertSources } from "./alerts/observations.ts";
import { AuditLog } from "./audit/audit-service.ts";
import { DeadLetters } from "./deliveries/dead-letter-service.ts";
import { DeliveryListing } from "./deliveries/delivery-listing.ts";
import { Deliveries } from "./deliveries/delivery-service.ts";
import { EventTypes } from "./event-types/event-type-service.ts";
import type { SchemaRegistry } from "./event-types/schema-registry.ts";
import { Events } from "./events/event-service.ts";
import { GatewayDirectory } from "./gateway/gateway-directory.ts";
import { LiveFeed } from "./live/live-feed.ts";
import { createNotifications, type NotificationMeans } from "./notifications/create-notifications.ts";
import { Wording } from "./notifications/messages.ts";
import { NotificationDesk } from "./notifications/notification-desk.ts";
import { BatchOperations } from "./operations/batch-operations.ts";
import { BulkActions } from "./operations/bulk-actions.ts";
import { SelectionWalk } from "./operations/selection-walk.ts";
import { PortalLooks } from "./portal/portal-looks.ts";
import { PortalSessions } from "./portal/portal-sessions.ts";
import { DeliveryProblems } from "./problems/problem-service.ts";
import { RegistryReload, type RegistryReloadOptions } from "./registry-reload.ts";
import { Search } from "./search/search-service.ts";
import type { Services } from "./services.ts";
import { Statistics } from "./statistics/statistics-service.ts";
import { ApiKeys } from "./tenants/api-key-service.ts";
import { type TenantDirectory, TenantKeys, Tenants } from "./tenants/tenant-service.ts";
import { UrlChecks } from "./verification/outside-calls.ts";
import { type VerificationMeans, WebhookVerifications } from "./verification/webhook-verifications.ts";
import { WebhookCredentials } from "./webhooks/webhook-credentials.ts";
import { WebhookIncidents } from "./webhooks/webhook-incidents.ts";
import { WebhookRecovery } from "./webhooks/webhook-recovery.ts";
import { WebhookSecrets } from "./webhooks/webhook-secrets.ts";
import { Webhooks } from "./webhooks/webhook-service.ts";

export interface ServicesOptions {
  readonly access: EngineAccess;
  readonly publisher: Publisher;
  readonly store: Store;
  /** An additional source of changes. */
  readonly news?: StoreChanges;
  /** External components that may be unavailable. */
  readonly watched?: Partial<Pick<AlertSources, "queue" | "sharedState">>;
  readonly secretBox: SecretBox;
  readonly schemaCompiler: SchemaCompiler;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly urlRules: UrlRules;
  /** Both are created before the engine, which uses them for every event. */
  readonly tenants: TenantDirectory;
  readonly schemas: SchemaRegistry;
  readonly adminKeyHash: string | null;
  /** Whether this process resumes unfinished work of others; always true when embedded. */
  readonly schedules: boolean;
  readonly limits: { readonly webhooksPerTenantMax: number };
  readonly statisticsKeptMs?: Readonly<Record<StatisticsStep, number>>;
  readonly verification: VerificationMeans;
  /** Without it, no emails are sent. */
  readonly notifications?: NotificationMeans;
}

export interface ManagedServices extends Services {
  readonly gatewayDirectory: GatewayDirectory;
  readonly lifecycle: ServicesLifecycle;
}

/** Can be started once. `stop` is idempotent and waits until nothing is running. */
export interface ServicesLifecycle {
  /** Called after the engine starts: loads keys, applies tenant limits, resumes unfinished batch operations. */
  start(): Promise<void>;
  /** Evaluates the alert rules once, for tests. */
  lookAtAlerts(): Promise<void>;
  /** Called before the engine stops. */
  stop(): Promise<void>;
}

/** The services of a running engine. */
export function createServices(options: ServicesOptions): ManagedServices {
  const { access, store, clock, random, secretBox, tenants, schemas, telemetry } = options;
  const { history, registry, gateway: requests } = store;
  const shared = store.ownership === undefined ? null : { resumes: options.schedules };
  const listing = new DeliveryListing({ access, history, clock });
  const walk = new SelectionWalk({ access, history, listing, clock });
  const operations = new BatchOperations({ access, store, history, walk, clock, log: telemetry.log, shared });
  const bulk = new BulkActions({ access, walk, history, operations, clock });
  const desk = createDesk(options);
  const { alerts, alertWatch } = createAlerts(options, desk);
  const problems = new DeliveryProblems({ store: store.problems ?? null, access, clock });
  const statistics = createStatistics(options);
  const live = new LiveFeed({
    access,
    listing,
    operations,
    alerts,
    problems,
    requests,
    statistics,
    clock,
    telemetry,
  });
  const recovery = new WebhookRecovery(history, operations, clock);
  const tenantKeys = new TenantKeys({ access, store: store.webhooks, secretBox, clock, random });
  const secrets = new WebhookSecrets({ store: store.webhooks, tenantKeys, secretBox, clock, random });
  const credentials = new WebhookCredentials({ secretBox, clock });
  const means = options.verification;
  const verifications = new WebhookVerifications({ access, clock, random, secretBox, means });
  const { adminKeyHash, urlRules, notifications: people = noMeans } = options;
  const apiKeys = new ApiKeys({ registry, tenants, access, clock, random, adminKeyHash });
  const portal = createPortal(options);
  const gatewayDirectory = new GatewayDirectory(store.gateway);
  const reload = new RegistryReload({
    registry,
    tenants,
    schemas,
    apiKeys,
    tenantKeys,
    access,
    clock,
    random,
    portal: Object.values(portal),
    gateway: gatewayDirectory,
    changes: [store.changes, options.news].filter((source) => source !== undefined),
    isShared: shared !== null,
    ...restartsOf(store),
    log: telemetry.log,
  });
  const webhooks = new Webhooks({
    access,
    store,
    clock,
    secrets,
    credentials,
    verifications,
    tenants,
    urlRules,
    statistics,
    incidents: new WebhookIncidents({ access, store, clock, log: telemetry.log }),
    recovery,
    ...options.limits,
  });
  const tenantService = new Tenants({ registry, tenants, access, clock });
  const told = createNotifications({ ...options, webhooks, tenants: tenantService, means: people });
  return {
    events: new Events({ publisher: options.publisher, access, history, listing, clock }),
    webhooks,
    deliveries: new Deliveries({ access, history, listing, clock, bulk }),
    deadLetters: new DeadLetters({ access, history, operations, bulk, clock }),
    eventTypes: new EventTypes({ registry, compiler: options.schemaCompiler, schemas, tenants, clock }),
    tenants: tenantService,
    apiKeys,
    audit: new AuditLog(store.audit, clock),
    search: new Search({ access, history, operations, clock, gateway: gatewayDirectory }),
    live,
    desk,
    alerts,
    statistics,
    problems,
    notifications: told?.notifications ?? null,
    ...portal,
    gatewayDirectory,
    urlChecks: new UrlChecks({ access, urlRules }),
    lifecycle: {
      async start() {
        await Promise.all([apiKeys.load(), gatewayDirectory.load()]);
        for (const { id, rateLimit } of tenants.all()) access.applyTenantLimit({ tenantId: id, rateLimit });
        await operations.start();
        reload.start();
        alertWatch?.start();
        told?.start();
      },
      lookAtAlerts: async () => alertWatch?.round(),
      stop: async () => {
        means.names.close();
        await Promise.all([reload.stop(), operations.stop(), live.stop(), alertWatch?.stop(), told?.stop()]);
      },
    },
  };
}

/** Only schedulers evaluate rules. */
function createAlerts(options: ServicesOptions, desk: NotificationDesk | null) {
  const { access, store, clock, tenants, telemetry, watched, schedules } = options;
  if (store.alerts === undefined) return { alerts: null, alertWatch: null };
  const statistics = store.statistics ?? null;
  const alerts = new Alerts({ store: store.alerts, statistics, access, tenants, clock });
  if (!schedules) return { alerts, alertWatch: null };
  const { ownership } = store;
  const nextId = () => access.nextId();
  const alertWatch = new AlertWatch({
    store: store.alerts,
    desk,
    nextId,
    clock,
    log: telemetry.log,
    wording: new Wording(options.notifications?.overrides),
    events: store.notifications ?? null,
    sources: {
      store,
      access,
      tenants,
      queue: watched?.queue ?? null,
      sharedState: watched?.sharedState ?? null,
    },
    leaderships: ownership === undefined ? null : new Leaderships(ownership, nextId()),
  });
  return { alerts, alertWatch };
}

function createDesk({ store, access, clock }: ServicesOptions): NotificationDesk | null {
  if (store.notifications === undefined) return null;
  return new NotificationDesk({ queue: store.notifications, clock, nextId: () => access.nextId() });
}

const noMeans: NotificationMeans = { mailer: null, overrides: {}, linkTemplate: null, publicUrl: null };

function restartsOf(store: Store): Pick<RegistryReloadOptions, "watchRestarts"> {
  if (store.watchRestarts === undefined) return {};
  return { watchRestarts: (restarted) => store.watchRestarts?.(restarted) ?? (() => undefined) };
}

function createPortal({ access, store, tenants, clock, random }: ServicesOptions) {
  const parts = { store: store.portal, tenants, clock };
  const portalLooks = new PortalLooks(parts);
  const portalSessions = new PortalSessions({ ...parts, looks: portalLooks, access, random });
  return { portalLooks, portalSessions };
}

function createStatistics({ access, store, clock, statisticsKeptMs }: ServicesOptions): Statistics {
  const keptMs = statisticsKeptMs ?? statisticsKeptMsDefault;
  return new Statistics({
    store: store.statistics ?? null,
    deliveries: store.deliveries,
    access,
    clock,
    keptMs,
  });
}
