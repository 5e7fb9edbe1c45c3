import { systemClock } from "../adapters/system/clock.ts";
import { createSystemRandom } from "../adapters/system/random.ts";
import { createPrometheusMetrics } from "../adapters/telemetry/prometheus/prometheus-metrics.ts";
import type { PrometheusMetrics } from "../adapters/telemetry/prometheus/prometheus-metrics.ts";
import { createApi } from "../api/server.ts";
import type { Api, Readiness } from "../api/server.ts";
import type { Settings } from "../config/options.ts";
import { profiles } from "../core/profiles/index.ts";
import type { Services } from "../engine/services.ts";
import type { NameLookup } from "../ports/name-lookup.ts";
import type { Store } from "../ports/store.ts";
import type { Logger } from "../ports/telemetry.ts";
import type { Transport } from "../ports/transport.ts";
import { dataFolderAt, prepareDataFolder } from "./data-folder.ts";
import { loadKeys, needsFolder, readMasterKeys } from "./keys.ts";
import type { Keys } from "./keys.ts";
import { createLog } from "./logging.ts";
import { openStore } from "./open-store.ts";
import { Readings } from "./readings.ts";
import { assembleEngine } from "./running-engine.ts";
import type { AssembledEngine } from "./running-engine.ts";

/** What tests and the library put in place of the real thing. */
export interface Overrides {
  readonly log?: Logger;
  readonly transport?: Transport;
  readonly names?: NameLookup;
  /** False starts no HTTP server, whatever the roles say. */
  readonly listens?: boolean;
}

export interface RunningPosthorn {
  readonly settings: Settings;
  readonly services: Services;
  readonly log: Logger;
  /** Of the HTTP server; null without one. */
  readonly url: string | null;
  readonly dataDir: string;
  readonly adminKey: string;
  /** Where the admin key lies; null when it came from a setting. */
  readonly adminKeyFile: string | null;
  metricsText(): Promise<string>;
  readiness(): Readiness;
  /** Finishes what runs within the grace time, then closes everything. Safe to call twice. */
  stop(): Promise<void>;
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
  await using started = new AsyncDisposableStack();
  const master = readMasterKeys(settings, { folder, random });
  const { store, digestKeyHolder: holder } = await openStore(settings, {
    folder,
    masterKeys: () => master,
  });
  started.defer(() => store.close());
  const keys = await loadKeys(settings, { master, holder, folder, random });
  for (const warning of [...warnings, ...keys.warnings]) log.warn({}, warning);
  const metrics = createPrometheusMetrics({ monotonicMs: () => systemClock.monotonicMs() });
  started.defer(() => metrics.stop());
  const telemetry = { log, metrics: metrics.metrics };
  const { transport, names } = overrides;
  const assembled = await assembleEngine({
    ...{ settings, store, keys, random, telemetry },
    ...(transport !== undefined && { transport }),
    ...(names !== undefined && { names }),
  });
  const { engine, lifecycle, services } = assembled;
  observe(metrics, { store, assembled });
  const grace = new Grace(settings.shutdownGraceMs);
  started.defer(() => engine.stop({ graceMs: grace.remainingMs() }));
  await engine.start();
  started.defer(() => lifecycle.stop());
  await lifecycle.start();
  const readings = new Readings({ engine, store, settings });
  started.defer(() => readings.stop());
  const readiness = (): Readiness => readings.readiness();
  let url: string | null = null;
  if (settings.roles.includes("api") && overrides.listens !== false) {
    const api = await openApi({ settings, services, store, keys, log, readiness, metrics });
    // At most half, so that a caller who is slow to finish leaves time for the deliveries under way.
    started.defer(() => api.close(grace.remainingMs() / 2));
    ({ url } = await api.listen({ host: settings.host, port: settings.port }));
  }
  const running = started.move();
  const stopOnce = once(async () => {
    readings.isDraining = true;
    grace.begin();
    await running.disposeAsync();
  });
  return {
    settings,
    services,
    log,
    url,
    dataDir: folder.path,
    adminKey: keys.adminKey,
    adminKeyFile: keys.adminKeyFile,
    metricsText: () => metrics.text(),
    readiness,
    stop: stopOnce,
  };
}

function openApi(parts: {
  readonly settings: Settings;
  readonly services: Services;
  readonly store: Store;
  readonly keys: Keys;
  readonly log: Logger;
  readonly readiness: () => Readiness;
  readonly metrics: PrometheusMetrics;
}): Promise<Api> {
  const { settings, services, store, keys, log, readiness, metrics } = parts;
  return createApi({
    services,
    idempotency: store.idempotency,
    secretBox: keys.secretBox,
    clock: systemClock,
    log,
    limits: { payloadBytesMax: settings.payloadBytesMax },
    readiness,
    metricsText: () => metrics.text(),
    profiles,
    cursorKey: keys.cursorKey,
    dev: settings.dev,
    logRequests: settings.logLevel === "debug",
  });
}

function observe(
  metrics: PrometheusMetrics,
  { store, assembled }: { readonly store: Store; readonly assembled: AssembledEngine },
): void {
  const { engine, transport } = assembled;
  metrics.observe({
    depth: () => store.deliveries.depth(),
    circuits: () =>
      Iterator.from(engine.webhooks()).map(({ webhook, circuit }) => ({
        webhookId: webhook.id,
        state: circuit.phase,
      })),
    activity: () => engine.activity(),
    openSockets: () => transport.openSockets(),
  });
}

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
