import { prepareDataFolder } from "../../src/app/data-folder.ts";
import { loadKeys, readMasterKeys } from "../../src/app/keys.ts";
import { type Companions, openCompanions } from "../../src/app/open-companions.ts";
import { openStore } from "../../src/app/open-store.ts";
import { createLog, openTracing } from "../../src/app/open-tracing.ts";
import { type AssembledEngine, assembleEngine } from "../../src/app/running-engine.ts";
import type { Settings } from "../../src/config/options.ts";
import { resolveValues } from "../../src/config/resolve.ts";
import type { Store } from "../../src/ports/store.ts";
import type { AttemptFact, Logger, Metrics } from "../../src/ports/telemetry.ts";
import { systemClock } from "../../src/system/clock.ts";
import { createSystemRandom } from "../../src/system/random.ts";
import type { OtlpTracer } from "../../src/system/telemetry/otlp-tracer.ts";
import { createPrometheusMetrics } from "../../src/system/telemetry/prometheus-metrics.ts";
import type { Home } from "./product.ts";

/** An assembled Posthorn that has not been started. */
export interface Product extends AssembledEngine {
  readonly store: Store;
  readonly companions: Companions;
}

/**
 * Default settings, except for loopback targets, a quiet log and the addresses of servers. Set
 * `POSTHORN_SENDER_THREADS` in the environment of the bench to compare the two ways of sending.
 */
export function productSettings(
  { dataDir, servers, stats = true }: Home,
  roles?: Settings["roles"],
): Settings {
  const given = { ...servers, ...(roles === undefined ? {} : { roles }) };
  const senderThreads = process.env["POSTHORN_SENDER_THREADS"] ?? "auto";
  const resolution = resolveValues({
    dev: true,
    logLevel: "warn",
    port: 0,
    dataDir,
    senderThreads,
    stats,
    ...given,
  });
  if (resolution.kind === "refused") throw new Error(resolution.problems.join("; "));
  return resolution.settings;
}

/**
 * Assembles Posthorn like src/app/posthorn.ts, but without the HTTP server and in two steps, so the row decides when
 * deliveries start. Each settled delivery calls back, which lets a publisher adapt its pace.
 */
export async function openProduct(
  home: Home,
  /** If false, Posthorn only publishes, and deliveries wait in the store. */ delivers: boolean,
  onSettled: (fact: AttemptFact) => void,
): Promise<Product> {
  const settings = productSettings(home, delivers ? ["scheduler", "worker"] : ["api"]);
  const random = createSystemRandom();
  const { folder } = prepareDataFolder(home.dataDir);
  const master = readMasterKeys(settings, folder, random);
  const prometheus = createPrometheusMetrics(() => systemClock.monotonicMs());
  const tracer = await tracerTo(home.tracesTo, createLog(settings));
  const telemetry = {
    log: createLog(settings),
    metrics: listening(prometheus.metrics, onSettled),
    ...(tracer !== null && { tracer }),
  };
  const companions = await openCompanions(settings, random, telemetry);
  const masterKeys = () => master;
  const { store, digestKeyHolder: holder } = await openStore(settings, folder, masterKeys, companions);
  const keys = await loadKeys(settings, { master, holder, store, folder, random });
  const assembled = await assembleEngine({
    settings,
    store,
    companions,
    keys,
    random,
    telemetry,
    clock: systemClock,
  });
  return { ...assembled, store, companions };
}

/** The exporter reads its target from the environment of this process. */
async function tracerTo(collector: string | undefined, log: Logger): Promise<OtlpTracer | null> {
  if (collector === undefined) return null;
  process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector;
  return openTracing(process.env, systemClock, log);
}

export async function startProduct({ engine, lifecycle }: Product): Promise<void> {
  await engine.start();
  await lifecycle.start();
}

export async function closeProduct(product: Product): Promise<void> {
  await product.lifecycle.stop();
  await product.engine.stop(2_000);
  await product.store.close();
  await product.companions.close();
}

function listening(metrics: Metrics, onSettled: (fact: AttemptFact) => void): Metrics {
  return {
    attemptSettled(fact) {
      metrics.attemptSettled(fact);
      onSettled(fact);
    },
    circuitMoved: (from, to) => metrics.circuitMoved(from, to),
    rateLimited: (webhookId) => metrics.rateLimited(webhookId),
    largePayload: (bytes) => metrics.largePayload(bytes),
    eventPublished: (isDuplicate) => metrics.eventPublished(isDuplicate),
    commitWritten: (writes, durationMs) => metrics.commitWritten(writes, durationMs),
    notified: () => undefined,
    alarmed: (alarm) => metrics.alarmed(alarm),
    apiCallLimited: (limit) => metrics.apiCallLimited(limit),
  };
}
