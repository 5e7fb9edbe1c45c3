import { statisticsKeptMsDefault, type StatisticsStep } from "../domain/statistics/facts.ts";
import { Leaderships } from "../engine/cluster/leaderships.ts";
import type { Publisher } from "../engine/publish/publish.ts";
import type { SchemaCompiler } from "../ports/schema-compiler.ts";
import type { Store } from "../ports/store.ts";
import type { StoreChanges } from "../ports/store/changes.ts";
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
import type { FeatureContext, Services } from "./services.ts";
import { Statistics } from "./statistics/statistics-service.ts";
import { ApiKeys } from "./tenants/api-key-service.ts";
import { TenantKeys, Tenants } from "./tenants/tenant-service.ts";
import { UrlChecks } from "./verification/outside-calls.ts";
import { type VerificationMeans, WebhookVerifications } from "./verification/webhook-verifications.ts";
import { WebhookCredentials } from "./webhooks/webhook-credentials.ts";
import { WebhookIncidents } from "./webhooks/webhook-incidents.ts";
import { WebhookRecovery } from "./webhooks/webhook-recovery.ts";
import { WebhookSecrets } from "./webhooks/webhook-secrets.ts";
import { Webhooks } from "./webhooks/webhook-service.ts";

export interface ServicesOptions extends FeatureContext {
  readonly publisher: Publisher;
  /** An additional source of change notifications. */
  readonly news?: StoreChanges | undefined;
  /** External components that may be unavailable. */
  readonly watched?: Partial<Pick<AlertSources, "queue" | "sharedState">>;
  readonly schemaCompiler: SchemaCompiler;
  /** Created before the engine, like the tenant directory, because the engine uses both for every event. */
  readonly schemas: SchemaRegistry;
  readonly adminKeyHash: string | null;
  /** Whether this process resumes unfinished work of other processes; always true when embedded. */
  readonly schedules: boolean;
  readonly limits: { readonly webhooksPerTenantMax: number };
  /** False if statistics are disabled. */
  readonly countsStatistics?: boolean;
  readonly statisticsKeptMs?: Readonly<Record<StatisticsStep, number>>;
  readonly verification: VerificationMeans;
  /** If omitted, no emails are sent. */
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
  const { access, store, clock, random, tenants, schemas, telemetry } = options;
  const { history, registry, gateway: requests } = store;
  const shared = store.ownership === undefined ? null : { resumes: options.schedules };
  const listing = new DeliveryListing(options);
  const walk = new SelectionWalk(options, listing);
  const operations = new BatchOperations({ access, store, history, walk, clock, log: telemetry.log, shared });
  const bulk = new BulkActions(options, walk, operations);
  const { alerts, statistics } = createReadings(options);
  const alertWatch = createAlertWatch(options);
  const problems = new DeliveryProblems({ store: store.problems, access, clock });
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
  const tenantKeys = new TenantKeys(options);
  const secrets = new WebhookSecrets(options, tenantKeys);
  const credentials = new WebhookCredentials(options);
  const means = options.verification;
  const verifications = new WebhookVerifications(options, means);
  const { urlRules, notifications: people = noMeans } = options;
  const apiKeys = new ApiKeys(options, options.adminKeyHash);
  const portalLooks = new PortalLooks(options);
  const portal = { portalLooks, portalSessions: new PortalSessions(options, portalLooks) };
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
    incidents: new WebhookIncidents(options),
    recovery,
    ...options.limits,
  });
  const tenantService = new Tenants(options);
  const told = createNotifications({ ...options, webhooks, tenants: tenantService, means: people });
  return {
    events: new Events(options, options.publisher, listing),
    webhooks,
    deliveries: new Deliveries(options, listing, bulk),
    deadLetters: new DeadLetters(options, operations, bulk),
    eventTypes: new EventTypes(options, options.schemaCompiler, schemas),
    tenants: tenantService,
    apiKeys,
    audit: new AuditLog(store.audit, clock),
    search: new Search(options, operations, gatewayDirectory),
    live,
    alerts,
    statistics,
    problems,
    notifications: told.notifications,
    ...portal,
    gatewayDirectory,
    urlChecks: new UrlChecks(options),
    lifecycle: {
      async start() {
        await Promise.all([apiKeys.load(), gatewayDirectory.load()]);
        for (const { id, rateLimit } of tenants.all()) access.applyTenantLimit(id, rateLimit);
        await operations.start();
        reload.start();
        alertWatch?.start();
        told.start();
      },
      lookAtAlerts: async () => alertWatch?.round(),
      stop: async () => {
        means.names.close();
        await Promise.all([reload.stop(), operations.stop(), live.stop(), alertWatch?.stop(), told.stop()]);
      },
    },
  };
}

/** Services over statistics. */
function createReadings({
  access,
  store,
  clock,
  tenants,
  countsStatistics: isCounting = true,
  statisticsKeptMs: keptMs = statisticsKeptMsDefault,
}: ServicesOptions) {
  const { statistics, deliveries } = store;
  return {
    alerts: new Alerts({ store: store.alerts, statistics, isCounting, access, tenants, clock }),
    statistics: new Statistics({ store: statistics, deliveries, isCounting, access, clock, keptMs }),
  };
}

/** Null if this process does not schedule, because only schedulers evaluate rules. */
function createAlertWatch(options: ServicesOptions): AlertWatch | null {
  const { access, store, clock, tenants, telemetry, watched, schedules } = options;
  if (!schedules) return null;
  const { ownership, notifications: queue } = store;
  const nextId = () => access.nextId();
  return new AlertWatch({
    store: store.alerts,
    desk: new NotificationDesk(queue, clock, nextId),
    nextId,
    clock,
    log: telemetry.log,
    wording: new Wording(options.notifications?.overrides),
    events: queue,
    sources: {
      store,
      access,
      tenants,
      queue: watched?.queue ?? null,
      sharedState: watched?.sharedState ?? null,
    },
    leaderships: ownership === undefined ? null : new Leaderships(ownership, nextId()),
  });
}

const noMeans: NotificationMeans = { mailer: null, overrides: {}, linkTemplate: null, publicUrl: null };

function restartsOf(store: Store): Pick<RegistryReloadOptions, "watchRestarts"> {
  if (store.watchRestarts === undefined) return {};
  return { watchRestarts: (restarted) => store.watchRestarts?.(restarted) ?? (() => undefined) };
}
