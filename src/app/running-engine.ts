import { daysToMs, type Settings } from "../config/options.ts";
import { createAddressPolicy } from "../domain/egress/address-policy.ts";
import type { StatisticsStep } from "../domain/statistics/facts.ts";
import { Engine } from "../engine/engine.ts";
import { createServices, type ServicesLifecycle } from "../features/create-services.ts";
import { SchemaRegistry } from "../features/event-types/schema-registry.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../features/gateway/create-gateway.ts";
import type { GatewayDirectory } from "../features/gateway/gateway-directory.ts";
import { OwnAddresses } from "../features/gateway/address.ts";
import type { Services } from "../features/services.ts";
import { hashApiKey } from "../features/tenants/api-key-service.ts";
import { loadTenantDirectory } from "../features/tenants/tenant-service.ts";
import { OutsideCalls } from "../features/verification/outside-calls.ts";
import type { Clock } from "../ports/clock.ts";
import type { NameLookup } from "../ports/name-lookup.ts";
import type { Random } from "../ports/random.ts";
import type { Store } from "../ports/store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Transport } from "../ports/transport.ts";
import { createSchemaCompiler } from "../schema/ajv/schema-compiler.ts";
import { createHostNames, createNameLookup, hostAddresses } from "../system/host-names.ts";
import { openFilesMax } from "./data-folder.ts";
import { requestOriginOf } from "./examine-receiver.ts";
import type { Keys } from "./keys.ts";
import { type LocalAddress, notificationMeans } from "./notification-means.ts";
import type { Companions } from "./open-companions.ts";
import { openTransport, waitingRequestsMax } from "./open-transport.ts";
import { RolePresence } from "./role-presence.ts";
import { version } from "./version.ts";

/** The engine and its services; they are not started yet. */
export interface AssembledEngine {
  readonly engine: Engine;
  readonly services: Services;
  readonly lifecycle: ServicesLifecycle;
  readonly transport: Transport;
  readonly gateway: Gateway;
  readonly presence: RolePresence;
  readonly gatewayDirectory: GatewayDirectory;
  readonly local: LocalAddress;
}

export interface EngineParts {
  readonly settings: Settings;
  readonly store: Store;
  /** False if a different program handles the requests, so that no role is required. */
  readonly listens?: boolean;
  /** Used with PostgreSQL only. */
  readonly companions?: Companions;
  /** The clock that decides which deliveries are due. */
  readonly clock: Clock;
  readonly keys: Keys;
  readonly random: Random;
  readonly telemetry: Telemetry;
  /** Replaces the network; for tests. */
  readonly transport?: Transport | undefined;
  /** Replaces the system's name servers; for tests. */
  readonly names?: NameLookup | undefined;
}

/**
 * Maximum rows in one transaction. SQLite writes a delivery in 10 to 20 µs on the event loop, so a full transaction
 * takes about 30 ms. Groups of more than a few hundred rows gain no speed and only wait longer.
 */
const commitRowsMax = 2_048;
/** More than any tenant needs, and few enough to keep the engine's memory predictable. */
const webhooksPerTenantMax = 100_000;

/** The sender of a message chooses the URL to which consent is sent, and that URL may belong to a third party. */
const consentLimits = {
  all: { atOnce: 16, perMinute: 120 },
  tenant: { atOnce: 4, perMinute: 60 },
  host: { atOnce: 2, perMinute: 60 },
};

const userAgent = `Posthorn/${version}`;

function retentionOf(settings: Settings) {
  return {
    payloadMs: daysToMs(settings.retentionPayloadDays),
    historyMs: daysToMs(settings.retentionHistoryDays),
    auditMs: daysToMs(settings.auditDays),
  };
}

/** Wires the engine to its adapters. */
export async function assembleEngine(parts: EngineParts): Promise<AssembledEngine> {
  const { settings, store, companions, clock, keys, random, telemetry } = parts;
  const policy = createAddressPolicy(settings.egressAllow, settings.dev);
  const transport = parts.transport ?? openTransport(settings, clock, telemetry.log);
  const urlRules = {
    policy,
    allowHttp: settings.dev || settings.egressAllowHttp,
    allowInternalNames: settings.egressAllow.length > 0,
  };
  const requestOrigin = requestOriginOf(settings);
  const local: LocalAddress = { url: null };
  const schemaCompiler = createSchemaCompiler();
  const tenants = await loadTenantDirectory(store.registry, clock);
  const schemas = new SchemaRegistry(store.registry, schemaCompiler);
  const { workQueue = null, sharedState = null } = companions ?? {};
  const statisticsKeptMs = keptMsOf(settings);
  const engine = new Engine({
    store,
    ...(workQueue !== null && { workQueue }),
    ...(sharedState !== null && { sharedState }),
    pool: settings.workerPool,
    poolOf: (tenantId) => tenants.get(tenantId)?.workerPool ?? "default",
    transport,
    secretBox: keys.secretBox,
    clock,
    random,
    telemetry,
    limits: { ...limitsOf(settings), commitRowsMax },
    retention: retentionOf(settings),
    countsStatistics: settings.stats,
    statisticsKeptMs,
    delivers: settings.roles.includes("worker"),
    schedules: settings.roles.includes("scheduler"),
    userAgent,
    requestOrigin,
    urlRules,
    tenantExists: (tenantId) => tenants.has(tenantId),
    schemas,
  });
  const { lifecycle, gatewayDirectory, ...services } = createServices({
    access: engine,
    publisher: engine.publisher,
    store,
    news: sharedState?.news,
    watched: { queue: workQueue, sharedState },
    secretBox: keys.secretBox,
    schemaCompiler,
    clock,
    random,
    telemetry,
    urlRules,
    countsStatistics: settings.stats,
    statisticsKeptMs,
    tenants,
    schemas,
    adminKeyHash: hashApiKey(keys.adminKey),
    schedules: settings.roles.includes("scheduler"),
    limits: { webhooksPerTenantMax },
    notifications: await notificationMeans(settings, local),
    verification: {
      transport,
      names: parts.names ?? createNameLookup(),
      userAgent,
      requestOrigin,
      publicUrl: settings.publicUrl,
    },
  });
  const consent = { transport, urlRules, calls: new OutsideCalls(clock, consentLimits) };
  const presence = presenceOf(parts, engine);
  const gateway = gatewayOf(parts, { engine, tenants, directory: gatewayDirectory, consent, presence });
  return { engine, services, lifecycle, transport, gateway, presence, gatewayDirectory, local };
}

function presenceOf({ settings, store, clock, telemetry }: EngineParts, engine: Engine): RolePresence {
  return new RolePresence({
    roles: settings.roles,
    owner: engine.nextId(),
    clock,
    log: telemetry.log,
    ownership: store.ownership,
  });
}

function gatewayOf(
  parts: EngineParts,
  over: Pick<GatewayOptions, "directory" | "tenants" | "consent"> & {
    readonly engine: Engine;
    readonly presence: RolePresence;
  },
): Gateway {
  const { settings, store, keys, clock, random, telemetry } = parts;
  const { engine: access, directory, tenants, consent, presence } = over;
  const isUnserved = (): boolean => parts.listens !== false && presence.isMissing("gateway");
  const { publicUrl, inboundUrl, basePath } = settings;
  const urls = [publicUrl, inboundUrl].filter((url) => url !== null);
  const names = createHostNames();
  const addressesOf = (hostname: string) => hostAddresses(names, hostname);
  const ownAddresses = new OwnAddresses({ urls, basePath, addressesOf });
  return createGateway({
    access,
    store,
    directory,
    tenants,
    consent,
    isUnserved,
    ownAddresses,
    secretBox: keys.secretBox,
    clock,
    random,
    telemetry,
    limits: {
      totalMax: settings.gatewayInFlight,
      perKeyMax: settings.gatewaySourceInFlight,
      sourcesPerTenantMax: settings.sourcesPerTenant,
    },
    takesCertificates: settings.clientCertificateHeader !== null,
    deployment: {
      durability: settings.databaseUrl === null ? "sqlite" : "postgresql",
      payloadBytesMax: settings.payloadBytesMax,
      payloadDays: settings.retentionPayloadDays,
      historyDays: settings.retentionHistoryDays,
    },
  });
}

function limitsOf(settings: Settings) {
  const { concurrency, webhookConcurrency, hostConcurrency } = settings;
  const waitingRequests = waitingRequestsMax(settings, openFilesMax());
  const { payloadBytesMax, commitWindowMs, bufferBytesMax, leaseMs } = settings;
  return {
    concurrency,
    waitingRequests,
    webhookConcurrency,
    hostConcurrency,
    payloadBytesMax,
    commitWindowMs,
    bufferBytesMax,
    leaseMs,
  };
}

/** How long each step of statistics is kept. */
function keptMsOf(settings: Settings): Readonly<Record<StatisticsStep, number>> {
  return {
    minute: settings.statsMinuteHours * 3_600_000,
    hour: daysToMs(settings.statsHourDays),
    day: daysToMs(settings.statsDayDays),
  };
}
