import { systemClock } from "../adapters/system/clock.ts";
import { createSystemRandom } from "../adapters/system/random.ts";
import { createPrometheusMetrics } from "../adapters/telemetry/prometheus/prometheus-metrics.ts";
import type { OtlpTracer } from "../adapters/telemetry/otlp/otlp-tracer.ts";
import type { PrometheusMetrics } from "../adapters/telemetry/prometheus/prometheus-metrics.ts";
import type { SystemReport } from "../api/context.ts";
import type { Readiness } from "../api/server.ts";
import type { OptionName, Settings } from "../config/options.ts";
import type { Source } from "../config/sources.ts";
import { pauseAt } from "../core/webhook.ts";
import type { GatewayServices } from "../services/gateway/gateway-services.ts";
import type { Services } from "../services/services.ts";
import type { NameLookup } from "../ports/name-lookup.ts";
import type { Random } from "../ports/random.ts";
import type { Store } from "../ports/store.ts";
import type { Logger, Telemetry } from "../ports/telemetry.ts";
import type { Transport } from "../ports/transport.ts";
import { dataFolderAt, prepareDataFolder } from "./data-folder.ts";
import { loadKeys, needsFolder, readMasterKeys } from "./keys.ts";
import { openApi, openGateway, openProbes } from "./listeners.ts";
import { GaugeSampler } from "./gauge-sampler.ts";
import { createLog } from "./logging.ts";
import { type Companions, companionSources, openCompanions } from "./open-companions.ts";
import { openTracing } from "./open-tracing.ts";
import { openStore } from "./open-store.ts";
import { ProcessGauges } from "./process-gauges.ts";
import { Readings } from "./readings.ts";
import { StoreClock } from "./store-clock.ts";
import { assembleEngine } from "./running-engine.ts";
import { systemReport } from "./system-report.ts";
import type { SystemParts } from "./system-report.ts";
import type { AssembledEngine } from "./running-engine.ts";
import { UndoSteps } from "./undo-steps.ts";

/** What tests and the library put in place of the real thing. */
export interface Overrides {
  readonly log?: Logger;
  readonly transport?: Transport;
  readonly names?: NameLookup;
  /** Where the standard settings of tracing are looked for; nowhere when left out. */
  readonly tracingFrom?: Readonly<Record<string, string | undefined>>;
  /** False starts no HTTP server, whatever the roles say. */
  readonly listens?: boolean;
  /** Where each setting came from, for whoever asks the API. */
  readonly sources?: Readonly<Record<OptionName, Source>>;
}

export interface RunningPosthorn {
  readonly settings: Settings;
  readonly services: Services;
  readonly log: Logger;
  /** Of the API; null without the role, and when nothing was to listen. */
  readonly url: string | null;
  /** Of `/livez`, `/readyz` and `/metrics` in a process without the API; null also when the port was taken. */
  readonly probesUrl: string | null;
  /** Where others send to, where that has a port of its own. */
  readonly inboundUrl: string | null;
  readonly gateway: GatewayServices;
  readonly dataDir: string;
  readonly adminKey: string;
  /** Where the admin key lies; null when it came from a setting. */
  readonly adminKeyFile: string | null;
  /** Logs in to the dashboard as the administrator, once and within five minutes; null without a dashboard. */
  loginLink(): string | null;
  metricsText(): Promise<string>;
  readiness(): Readiness;
  /** Finishes what runs within the grace time, then closes everything. Safe to call twice. */
  stop(): Promise<void>;
  /** What a stop is at. */
  stopping(): Stopping;
}

/** What a stop waits for. */
export interface Stopping {
  /** What is being closed; null before and after. */
  readonly part: string | null;
  readonly inFlight: number;
  readonly uncommitted: number;
  readonly storeTrouble: string | null;
}

/**
 * Starts everything in the order in which one thing needs the other, and undoes it in reverse, also when a step fails.
 *
 * Webhooks are loaded before the server listens: an event accepted before that would find no webhook and reach nobody.
 */
export async function startPosthorn(settings: Settings, overrides: Overrides = {}): Promise<RunningPosthorn> {
  const log = overrides.log ?? createLog(settings);
  const random = createSystemRandom();
  const { folder, warnings } = needsFolder(settings)
    ? prepareDataFolder(settings.dataDir)
    : { folder: dataFolderAt(settings.dataDir), warnings: [] };
  await using started = new UndoSteps();
  const master = readMasterKeys(settings, { folder, random });
  const { metrics, tracer, telemetry } = await openTelemetry(overrides, { log, started });
  const companions = await openCompanions(settings, { random, telemetry });
  started.defer("companions", () => companions.close());
  const masterKeys = () => master;
  const { store, digestKeyHolder: holder } = await openStore(settings, { folder, masterKeys, companions });
  started.defer("store", () => store.close());
  const keys = await loadKeys(settings, { master, holder, store, folder, random });
  for (const warning of [...warnings, ...keys.warnings]) log.warn({}, warning);
  const { transport, names, listens = true } = overrides;
  const clock = new StoreClock({ clock: systemClock, time: store.time?.bind(store), log });
  started.defer("clock", () => clock.stop());
  await clock.start();
  const assembled = await assembleEngine({
    ...{ settings, store, companions, clock, keys, random, telemetry, listens },
    ...(transport !== undefined && { transport }),
    ...(names !== undefined && { names }),
  });
  const { engine, lifecycle, services, gateway, presence } = assembled;
  observe(metrics, { store, companions, clock, assembled, tracer, pool: settings.workerPool });
  const grace = new Grace(settings.shutdownGraceMs);
  const readings = new Readings({ engine, store, companions, settings });
  started.defer("readings", () => readings.stop());
  const readiness = () => readings.readiness();
  const system = reporter({ settings, store, companions, warnings: () => presence.warnings() }, overrides);
  const hasApi = settings.roles.includes("api");
  const listening = { ...assembled, settings, store, keys, random, log, readiness, system, metrics };
  // First to open and last to close, so that they tell how the start and the shutdown get on.
  const probes = listens && !hasApi ? await openProbes(listening) : null;
  started.defer("probes", async () => probes?.close(probesGraceMs));
  started.defer("engine", () => engine.stop({ graceMs: grace.remainingMs() }));
  await engine.start();
  started.defer("services", () => lifecycle.stop());
  await lifecycle.start();
  started.defer("roles", watchRoles(assembled, store, { listens }));
  started.defer("gauges", sampleGauges({ settings, store, engine, clock, random, log }));
  const api = listens && hasApi ? await openApi(listening) : null;
  // At most half, so that a caller who is slow to finish leaves time for the deliveries under way.
  started.defer("api", async () => api?.close(grace.remainingMs() / 2));
  const inbound = await openGateway(listening, { listens, apiUrl: api?.url ?? null });
  started.defer("gateway", () => inbound.close(grace.remainingMs() / 2));
  readings.phase = "running";
  started.keep();
  return {
    settings,
    services,
    log,
    url: api?.url ?? null,
    probesUrl: probes?.url ?? null,
    inboundUrl: inbound.url,
    gateway,
    ...{ dataDir: folder.path, adminKey: keys.adminKey, adminKeyFile: keys.adminKeyFile },
    loginLink: () => api?.loginLink() ?? null,
    metricsText: () => metrics.text(),
    readiness,
    stop: once(async () => {
      readings.phase = "draining";
      grace.begin();
      await started.run();
    }),
    stopping: () => stoppingOf(started, engine),
  };
}

/** Warns of sources and channels whose role no process runs; returns how to end it. */
function watchRoles(
  { presence, gatewayDirectory }: Pick<AssembledEngine, "presence" | "gatewayDirectory">,
  store: Store,
  { listens }: { readonly listens: boolean },
): () => Promise<void> {
  presence.start({
    hasSources: () => listens && gatewayDirectory.sources().some(({ active }) => active),
    hasChannels: async () => ((await store.notifications?.channels()) ?? []).length > 0,
  });
  return () => presence.stop();
}

function stoppingOf({ current }: UndoSteps, engine: AssembledEngine["engine"]): Stopping {
  const { inFlight, uncommitted, storeTrouble } = engine.activity();
  return { part: current, inFlight, uncommitted, storeTrouble };
}

async function openTelemetry(
  { tracingFrom = {} }: Overrides,
  { log, started }: { readonly log: Logger; readonly started: UndoSteps },
) {
  const metrics = createPrometheusMetrics({ monotonicMs: () => systemClock.monotonicMs() });
  started.defer("metrics", () => metrics.stop());
  const tracer = await openTracing(tracingFrom, { clock: systemClock, log });
  started.defer("tracing", () => tracer?.close());
  const telemetry: Telemetry = { log, metrics: metrics.metrics, ...(tracer !== null && { tracer }) };
  return { metrics, tracer, telemetry };
}

/** `GET /v1/system` of this process, which starts now. */
function reporter(
  parts: Pick<SystemParts, "settings" | "store" | "companions" | "warnings">,
  { sources }: Pick<Overrides, "sources">,
): () => Promise<SystemReport> {
  const startedAt = systemClock.now();
  return () => systemReport({ ...parts, sources: sources ?? null, startedAt });
}

/** Begins to read for statistics, where they are kept; returns how to end it. */
function sampleGauges(of: {
  readonly settings: Settings;
  readonly store: Store;
  readonly engine: AssembledEngine["engine"];
  readonly clock: StoreClock;
  readonly random: Random;
  readonly log: Logger;
}): () => void {
  const { settings, store, engine, clock, random, log } = of;
  if (store.statistics === undefined || !settings.stats) return () => undefined;
  const gauges = new ProcessGauges({ engine, store, delivers: settings.roles.includes("worker") });
  const read = () => gauges.read();
  const sampler = new GaugeSampler({ store: store.statistics, clock, random, log, read });
  sampler.start();
  return () => {
    sampler.stop();
    gauges.stop();
  };
}

function observe(
  metrics: PrometheusMetrics,
  of: {
    readonly store: Store;
    readonly companions: Companions;
    readonly clock: StoreClock;
    readonly assembled: AssembledEngine;
    readonly tracer: OtlpTracer | null;
    readonly pool: string;
  },
): void {
  const { store, companions, clock, assembled, tracer, pool } = of;
  const { engine, services, transport } = assembled;
  metrics.observe({
    depth: () => store.deliveries.depth(),
    circuits: () =>
      Iterator.from(engine.webhooks()).map(({ webhook, circuit }) => ({
        webhookId: webhook.id,
        state: circuit.phase,
      })),
    paused: () => {
      const now = clock.now();
      return Iterator.from(engine.webhooks()).reduce(
        (count, { webhook }) => count + (pauseAt(webhook, now) === null ? 0 : 1),
        0,
      );
    },
    pool,
    activity: () => engine.activity(),
    oldestDueMs: () => engine.oldestDue.ageMs(),
    ...(store.disk !== undefined && { disk: store.disk.bind(store) }),
    openSockets: () => transport.openSockets(),
    streamClients: () => services.live.clients,
    portalSessions: () => services.portalSessions.count(),
    ...(store.ownership === undefined ? {} : { workers: store.ownership.pools.bind(store.ownership) }),
    ...(store.time !== undefined && { clockOffsetMs: () => clock.offsetMs }),
    ...(tracer !== null && { spans: () => tracer.read() }),
    ...companionSources(companions),
  });
}

/** For answers that are being written when everything else has stopped. */
const probesGraceMs = 500;

/** One grace time for all steps of a shutdown together. Whole until it begins, which is when a failed start is undone. */
class Grace {
  readonly #graceMs: number;
  #endsAt: number | null = null;

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  begin(): void {
    this.#endsAt ??= systemClock.monotonicMs() + this.#graceMs;
  }

  remainingMs(): number {
    if (this.#endsAt === null) return this.#graceMs;
    return Math.max(0, this.#endsAt - systemClock.monotonicMs());
  }
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => (running ??= run());
}
