import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Registry } from "@prometheus-io/client";
import type { Metrics } from "../../ports/telemetry.ts";
import { FactCounts } from "./fact-counts.ts";
import { gauges, type MetricSources } from "./gauges.ts";
import { type PlainMetric, registerPlain, single } from "./plain-metric.ts";

/** Coarse on purpose: an idle server should not wake up a hundred times a second to measure its idleness. */
const lagResolutionMs = 50;
const nanosecondsPerSecond = 1e9;

/**
 * The usual metrics of a process, under the names that dashboards expect. Not the client's default set, which samples
 * the event loop every 10 ms and always observes the garbage collector.
 */
function processMetrics(): { readonly metrics: readonly PlainMetric[]; readonly stop: () => void } {
  const lag = monitorEventLoopDelay({ resolution: lagResolutionMs });
  lag.enable();
  const startedAtSeconds = Date.now() / 1_000 - process.uptime();
  const metrics: readonly PlainMetric[] = [
    single("process_start_time_seconds", "gauge", "Start of the process, Unix time.", () => startedAtSeconds),
    single("process_cpu_seconds_total", "counter", "Processor time, user and system.", () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    single("process_resident_memory_bytes", "gauge", "Resident memory.", () => process.memoryUsage.rss()),
    single("process_open_fds", "gauge", "Open file descriptors.", () => readdirSync("/proc/self/fd").length),
    single("nodejs_heap_size_used_bytes", "gauge", "Heap in use.", () => process.memoryUsage().heapUsed),
    single(
      "nodejs_external_memory_bytes",
      "gauge",
      "Memory of buffers.",
      () => process.memoryUsage().external,
    ),
    {
      name: "posthorn_event_loop_lag_seconds",
      help: "Delay of the event loop since the last scrape.",
      type: "gauge",
      samples: () => {
        const samples = [50, 99].map((percentile) => ({
          labels: { percentile: `p${percentile}` },
          // How late a timer is, without its delay.
          value: Math.max(0, lag.percentile(percentile) / nanosecondsPerSecond - lagResolutionMs / 1_000),
        }));
        lag.reset();
        return samples;
      },
    },
  ];
  return { metrics, stop: () => void lag.disable() };
}

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
