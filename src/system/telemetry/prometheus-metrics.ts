import { collectDefaultMetrics, Registry } from "@prometheus-io/client";
import type { Metrics } from "../../ports/telemetry.ts";
import { FactCounts } from "./fact-counts.ts";
import { gauges, type MetricSources } from "./gauges.ts";
import { registerPlain } from "./plain-metric.ts";

/**
 * The Prometheus client's metrics of this process. One registry serves all instances, because the client never stops
 * these metrics.
 */
let ofProcess: Registry | null = null;

/**
 * Coarser than the client's defaults of 10 and 100 ms, because an idle server should rarely wake up to measure its lag.
 */
function processRegistry(): Registry {
  if (ofProcess === null) {
    ofProcess = new Registry();
    collectDefaultMetrics({
      register: ofProcess,
      eventLoopMonitoringPrecision: 50,
      eventLoopUtilizationTimeout: 5_000,
    });
  }
  return ofProcess;
}

export interface PrometheusMetrics {
  readonly metrics: Metrics;
  /** Includes gauges from these sources in the text from now on. */
  observe(sources: MetricSources): void;
  /** The metrics in the exposition format. */
  text(): Promise<string>;
}

/**
 * Metrics under the names of WDS-227 to WDS-235, and additional `posthorn_*` metrics. Facts are counted in plain maps
 * and arrays; all other values are computed when the text is requested.
 */
export function createPrometheusMetrics(monotonicMs: () => number): PrometheusMetrics {
  const registry = new Registry();
  const counts = new FactCounts(monotonicMs);
  const registries = [registry, processRegistry()];
  registerPlain(registry, counts.plainMetrics());
  return {
    metrics: counts,
    observe: (sources) => registerPlain(registry, gauges(sources)),
    text: async () => {
      const texts = await Promise.all(registries.map((one) => one.metrics()));
      // The library writes `Nan` instead of `NaN` for metrics without observations.
      return texts.join("\n").replaceAll(/ Nan$/gm, " NaN");
    },
  };
}
