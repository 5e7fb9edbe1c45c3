import { Registry } from "@prometheus-io/client";
import type { Metrics } from "../../../ports/telemetry.ts";
import { FactCounts } from "./fact-counts.ts";
import { gauges } from "./gauges.ts";
import type { MetricSources } from "./gauges.ts";
import { registerPlain } from "./plain-metric.ts";
import { processMetrics } from "./process-metrics.ts";

export interface PrometheusMetrics {
  readonly metrics: Metrics;
  /** Adds gauges to the text from now on. */
  observe(sources: MetricSources): void;
  /** The metrics in the exposition format. */
  text(): Promise<string>;
  stop(): void;
}

/**
 * Metrics under the names of WDS-227 to 235, and further `posthorn_*` metrics. Facts are counted in plain maps and
 * arrays; everything else is computed when the text is requested.
 */
export function createPrometheusMetrics(monotonicMs: () => number): PrometheusMetrics {
  const registry = new Registry();
  const counts = new FactCounts(monotonicMs);
  const process = processMetrics();
  registerPlain(registry, [...counts.plainMetrics(), ...process.metrics]);
  return {
    metrics: counts,
    observe: (sources) => registerPlain(registry, gauges(sources)),
    // The library writes `Nan` instead of `NaN` for summaries without observations.
    text: async () => (await registry.metrics()).replaceAll(/ Nan$/gm, " NaN"),
    stop: process.stop,
  };
}
