import { Registry } from "@prometheus-io/client";
import type { Metrics } from "../../../ports/telemetry.ts";
import { FactCounts } from "./fact-counts.ts";
import { gauges } from "./gauges.ts";
import type { MetricSources } from "./gauges.ts";
import { registerPlain } from "./plain-metric.ts";
import { processMetrics } from "./process-metrics.ts";

export interface PrometheusMetrics {
  readonly metrics: Metrics;
  /** From then on gauges are part of the text. */
  observe(sources: MetricSources): void;
  /** The exposition format. */
  text(): Promise<string>;
  stop(): void;
}

/**
 * Metrics by the names of WDS-227 to 235, and `posthorn_*` beyond them. Facts are counted in plain maps and arrays;
 * everything else happens when the text is asked for.
 */
export function createPrometheusMetrics(options: { readonly monotonicMs: () => number }): PrometheusMetrics {
  const registry = new Registry();
  const counts = new FactCounts(options.monotonicMs);
  const process = processMetrics();
  registerPlain(registry, [...counts.plainMetrics(), ...process.metrics]);
  return {
    metrics: counts,
    observe: (sources) => registerPlain(registry, gauges(sources)),
    // The library writes `Nan` where the format has `NaN`: for summaries that have observed nothing.
    text: async () => (await registry.metrics()).replaceAll(/ Nan$/gm, " NaN"),
    stop: process.stop,
  };
}
