import { systemClock } from "../../src/adapters/system/clock.ts";
import { createSystemRandom } from "../../src/adapters/system/random.ts";
import { createPrometheusMetrics } from "../../src/adapters/telemetry/prometheus/prometheus-metrics.ts";
import { prepareDataFolder } from "../../src/app/data-folder.ts";
import { loadKeys, readMasterKeys } from "../../src/app/keys.ts";
import { createLog } from "../../src/app/logging.ts";
import { openStore } from "../../src/app/open-store.ts";
import { assembleEngine } from "../../src/app/running-engine.ts";
import type { AssembledEngine } from "../../src/app/running-engine.ts";
import type { Settings } from "../../src/config/options.ts";
import { resolveValues } from "../../src/config/resolve.ts";
import type { Store } from "../../src/ports/store.ts";
import type { AttemptFact, Metrics } from "../../src/ports/telemetry.ts";

export interface ProductOptions {
  readonly dataDir: string;
  /** False only publishes: deliveries wait in the store. */
  readonly delivers: boolean;
  readonly onSettled: (fact: AttemptFact) => void;
}

/** The embedded product before its start. */
export interface Product extends AssembledEngine {
  readonly store: Store;
  readonly stopMetrics: () => void;
}

/** What a user gets without settings, but for loopback targets and a quiet log. */
export function productSettings(values: Readonly<Record<string, unknown>>): Settings {
  const resolution = resolveValues({ dev: true, logLevel: "warn", port: 0, ...values });
  if (resolution.kind === "refused") throw new Error(resolution.problems.join("; "));
  return resolution.settings;
}

/**
 * The product put together as src/app/posthorn.ts does it, without HTTP server, and in two steps: a bench decides when
 * deliveries begin, and learns when one is settled so that a publisher can pace itself.
 */
export async function openProduct(options: ProductOptions): Promise<Product> {
  const { dataDir, delivers } = options;
  const settings = productSettings({ dataDir, roles: delivers ? ["scheduler", "worker"] : ["api"] });
  const random = createSystemRandom();
  const { folder } = prepareDataFolder(dataDir);
  const master = readMasterKeys(settings, { folder, random });
  const { store, digestKeyHolder: holder } = await openStore(settings, { folder, masterKeys: () => master });
  const keys = await loadKeys(settings, { master, holder, folder, random });
  const prometheus = createPrometheusMetrics({ monotonicMs: () => systemClock.monotonicMs() });
  const telemetry = { log: createLog(settings), metrics: listening(prometheus.metrics, options.onSettled) };
  const assembled = await assembleEngine({ settings, store, keys, random, telemetry });
  return { ...assembled, store, stopMetrics: () => prometheus.stop() };
}

export async function startProduct({ engine, lifecycle }: Product): Promise<void> {
  await engine.start();
  await lifecycle.start();
}

export async function closeProduct(product: Product): Promise<void> {
  await product.lifecycle.stop();
  await product.engine.stop({ graceMs: 2_000 });
  product.stopMetrics();
  await product.store.close();
}

function listening(metrics: Metrics, onSettled: (fact: AttemptFact) => void): Metrics {
  return {
    attemptSettled(fact) {
      metrics.attemptSettled(fact);
      onSettled(fact);
    },
    circuitMoved: (fact) => metrics.circuitMoved(fact),
    rateLimited: (webhookId) => metrics.rateLimited(webhookId),
    largePayload: (bytes) => metrics.largePayload(bytes),
    eventPublished: (fact) => metrics.eventPublished(fact),
    commitWritten: (fact) => metrics.commitWritten(fact),
  };
}
