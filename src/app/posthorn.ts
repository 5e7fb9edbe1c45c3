import type { OptionName, Settings } from "../config/options.ts";
import type { Source } from "../config/sources.ts";
import { pauseAt } from "../domain/webhook.ts";
import type { GatewayServices } from "../features/gateway/gateway-services.ts";
import type { Services } from "../features/services.ts";
import type { SystemReport } from "../http/context.ts";
import type { Readiness } from "../http/server.ts";
import { type Clock, withDeadline } from "../ports/clock.ts";
import type { NameLookup } from "../ports/name-lookup.ts";
import type { Random } from "../ports/random.ts";
import type { Store } from "../ports/store.ts";
import type { Logger, Telemetry } from "../ports/telemetry.ts";
import type { Transport } from "../ports/transport.ts";
import { systemClock } from "../system/clock.ts";
import { createSystemRandom } from "../system/random.ts";
import type { OtlpTracer } from "../system/telemetry/otlp-tracer.ts";
import { createPrometheusMetrics, type PrometheusMetrics } from "../system/telemetry/prometheus-metrics.ts";
import { dataFolderAt, prepareDataFolder } from "./data-folder.ts";
import { GaugeSampler, ProcessGauges } from "./gauges.ts";
import { loadKeys, needsFolder, readMasterKeys } from "./keys.ts";
import { openApi, openGateway, openProbes } from "./listeners.ts";
import { type Companions, companionSources, openCompanions } from "./open-companions.ts";
import { openStore } from "./open-store.ts";
import { createLog, openTracing } from "./open-tracing.ts";
import { Readings, type SystemParts, systemReport } from "./readings.ts";
import { type AssembledEngine, assembleEngine } from "./running-engine.ts";
import { StoreClock } from "./store-clock.ts";

/**
 * Undoes the steps of a startup in reverse order. Exposes the current step, which helps to diagnose a stop that hangs.
 */
export class UndoSteps implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  #current: string | null = null;
  #isKept = false;

  /** The step that is being undone; null before and after. */
  get current(): string | null {
    return this.#current;
  }

  defer(what: string, undo: () => void | Promise<void>): void {
    this.#stack.defer(async () => {
      this.#current = what;
      await undo();
      this.#current = null;
    });
  }

  /** Marks the startup as successful: steps are then undone only by `run`. */
  keep(): void {
    this.#isKept = true;
  }

  run(): Promise<void> {
    return this.#stack.disposeAsync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isKept) await this.run();
  }
}

/** Replacements for tests and for the library. */
export interface Overrides {
  readonly log?: Logger | undefined;
  readonly transport?: Transport | undefined;
  readonly names?: NameLookup | undefined;
  /** Environment with the standard tracing variables. If omitted, no tracing variables are read. */
  readonly tracingFrom?: Readonly<Record<string, string | undefined>> | undefined;
  /** If false, no HTTP server is started, regardless of roles. */
  readonly listens?: boolean;
  /** Source of each setting, shown in the API. */
  readonly sources?: Readonly<Record<OptionName, Source>>;
}

export interface RunningPosthorn {
  readonly settings: Settings;
  readonly services: Services;
  readonly log: Logger;
  /** URL of the API; null if the process lacks the role or does not listen. */
  readonly url: string | null;
  /** URL of `/livez`, `/readyz` and `/metrics` in a process without the API; also null if the port was taken. */
  readonly probesUrl: string | null;
  /** URL for senders; null unless the gateway has a separate port. */
  readonly inboundUrl: string | null;
  readonly gateway: GatewayServices;
  readonly dataDir: string;
  readonly adminKey: string;
  /** The file with the admin key; null if the key came from a setting. */
  readonly adminKeyFile: string | null;
  /**
   * A link that logs in to the dashboard as administrator. It works once, within five minutes; null without a
   * dashboard.
   */
  loginLink(): string | null;
  metricsText(): Promise<string>;
  readiness(): Readiness;
  /** Finishes running work within the grace period, then closes everything. Safe to call twice. */
  stop(): Promise<void>;
  /** Reports what a running stop is currently waiting for. */
  stopping(): Stopping;
}

/** Describes what a stop is waiting for. */
export interface Stopping {
  /** The part that is being closed; null before and after. */
  readonly part: string | null;
  readonly inFlight: number;
  readonly uncommitted: number;
  readonly storeTrouble: string | null;
}

/**
 * Starts all parts in the order of their dependencies, and stops them in reverse order, even if a step fails.
 *
 * Webhooks are loaded before the server listens: an event accepted earlier would match no webhook.
 */
export async function startPosthorn(settings: Settings, overrides: Overrides = {}): Promise<RunningPosthorn> {
  const log = overrides.log ?? createLog(settings);
  const random = createSystemRandom();
  const { folder, warnings } = needsFolder(settings)
    ? prepareDataFolder(settings.dataDir)
    : { folder: dataFolderAt(settings.dataDir), warnings: [] };
  await using started = new UndoSteps();
  const master = readMasterKeys(settings, folder, random);
  const { metrics, tracer, telemetry } = await openTelemetry(overrides, log, started);
  const companions = await openCompanions(settings, random, telemetry);
  started.defer("companions", () => companions.close());
  const masterKeys = () => master;
  const { store, digestKeyHolder: holder } = await openStore(settings, folder, masterKeys, companions);
  started.defer("store", () => store.close());
  const keys = await loadKeys(settings, { master, holder, store, folder, random });
  for (const warning of [...warnings, ...keys.warnings]) log.warn({}, warning);
  const { transport, names, listens = true } = overrides;
  const clock = new StoreClock({ clock: systemClock, time: store.time?.bind(store), log });
  started.defer("clock", () => clock.stop());
  await clock.start();
  const assembled = await assembleEngine({
    settings,
    store,
    companions,
    clock,
    keys,
    random,
    telemetry,
    listens,
    transport,
    names,
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
  // Opened first and closed last, so that they can report the progress of startup and shutdown.
  const probes = listens && !hasApi ? await openProbes(listening) : null;
  started.defer("probes", async () => probes?.close(probesGraceMs));
  started.defer("engine", () => engine.stop(grace.remainingMs()));
  await engine.start();
  started.defer("services", () => lifecycle.stop());
  await lifecycle.start();
  started.defer("roles", watchRoles(assembled, store, listens));
  started.defer("gauges", sampleGauges({ settings, store, engine, clock, random, log }));
  const api = listens && hasApi ? await openApi(listening) : null;
  // Closing the API may take no more than half of the remaining time, so that slow callers leave time for deliveries in
  // flight.
  started.defer("api", async () => api?.close(grace.remainingMs() / 2));
  const inbound = await openGateway(listening, listens, api?.url ?? null);
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
    dataDir: folder.path,
    adminKey: keys.adminKey,
    adminKeyFile: keys.adminKeyFile,
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

/**
 * Warns if sources or notification channels need a role that no process runs. Returns a function that stops the check.
 */
function watchRoles(
  { presence, gatewayDirectory }: Pick<AssembledEngine, "presence" | "gatewayDirectory">,
  store: Store,
  listens: boolean,
): () => Promise<void> {
  presence.start({
    hasSources: () => listens && gatewayDirectory.sources().some(({ active }) => active),
    hasChannels: async () => (await store.notifications.channels()).length > 0,
  });
  return () => presence.stop();
}

function stoppingOf({ current }: UndoSteps, engine: AssembledEngine["engine"]): Stopping {
  const { inFlight, uncommitted, storeTrouble } = engine.activity();
  return { part: current, inFlight, uncommitted, storeTrouble };
}

async function openTelemetry({ tracingFrom = {} }: Overrides, log: Logger, started: UndoSteps) {
  const metrics = createPrometheusMetrics(() => systemClock.monotonicMs());
  const tracer = await openTracing(tracingFrom, systemClock, log);
  started.defer("tracing", () => tracer?.close());
  const telemetry: Telemetry = { log, metrics: metrics.metrics, ...(tracer !== null && { tracer }) };
  return { metrics, tracer, telemetry };
}

/** `GET /v1/system` of this process; records its start time. */
function reporter(
  parts: Pick<SystemParts, "settings" | "store" | "companions" | "warnings">,
  { sources }: Pick<Overrides, "sources">,
): () => Promise<SystemReport> {
  const startedAt = systemClock.now();
  return () => systemReport({ ...parts, sources: sources ?? null, startedAt });
}

/** Starts the gauge sampler if statistics are enabled. Returns a function that stops it. */
function sampleGauges(of: {
  readonly settings: Settings;
  readonly store: Store;
  readonly engine: AssembledEngine["engine"];
  readonly clock: StoreClock;
  readonly random: Random;
  readonly log: Logger;
}): () => void {
  const { settings, store, engine, clock, random, log } = of;
  if (!settings.stats) return () => undefined;
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
    disk: store.disk?.bind(store),
    openSockets: () => transport.openSockets(),
    streamClients: () => services.live.clients,
    portalSessions: () => services.portalSessions.count(),
    workers: store.ownership?.pools.bind(store.ownership),
    clockOffsetMs: store.time === undefined ? undefined : () => clock.offsetMs,
    spans: tracer === null ? undefined : () => tracer.read(),
    ...companionSources(companions),
  });
}

/** Time for responses that are still in progress when everything else has stopped. */
const probesGraceMs = 500;

/**
 * The grace period of a shutdown, which all steps share. It starts to elapse at `begin`; without that call, as when a
 * failed startup is undone, it keeps its full length.
 */
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

/**
 * Calls back with the kinds of resources that are still open if the process has not ended within a given time. The
 * timer does not keep the process alive, so a callback indicates a leak.
 */
export function whenUnended(afterMs: number, tell: (open: readonly string[]) => void): void {
  setTimeout(() => tell(process.getActiveResourcesInfo()), afterMs).unref();
}

interface StopInTimeOptions {
  readonly clock: Pick<Clock, "schedule">;
  readonly exit: (status: number) => never;
}

/** Stops a server. If open handles keep the process alive after that, they are logged and the process exits. */
export async function stopServer(running: RunningPosthorn, exit: StopInTimeOptions["exit"]): Promise<void> {
  await stopInTime(running, { clock: systemClock, exit });
  const { log } = running;
  log.info({}, "stopped");
  whenUnended(unendedMs, (open) => {
    log.error({ open }, "stopped, but open handles keep the process alive; exiting now");
    exit(1);
  });
}

/**
 * Stops a server. Parts that do not stop in time are logged and killed with the process, because a hanging server keeps
 * its data folder and its webhooks from its successor. No data is lost, because unsettled deliveries are sent again.
 */
export async function stopInTime(
  running: Pick<RunningPosthorn, "settings" | "log" | "stop" | "stopping">,
  { clock, exit }: StopInTimeOptions,
): Promise<void> {
  const { log, settings } = running;
  const graceMs = settings.shutdownGraceMs;
  const late = clock.schedule(graceMs + lateMs, () =>
    log.warn({ ...running.stopping() }, "shutdown is taking longer than the grace period"),
  );
  try {
    const stopped = running.stop().then(() => true);
    if ((await withDeadline(stopped, { clock, timeoutMs: graceMs + overdueMs })) !== null) return;
    log.error({ ...running.stopping() }, "shutdown did not finish in time; exiting now");
    exit(1);
  } finally {
    late.cancel();
  }
}

/** After the grace period, but before orchestrators kill the process, so that the log line is written. */
const lateMs = 5_000;
/** Time for connections, threads and the last commits, all of which have separate time limits. */
const overdueMs = 30_000;
/** Much longer than closed resources need to end. */
const unendedMs = 10_000;
