import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { PlainMetric } from "./plain-metric.ts";

/** Coarse on purpose: an idle server should not wake up a hundred times a second to measure how idle it is. */
const lagResolutionMs = 50;
const nanosecondsPerSecond = 1e9;

/**
 * The usual metrics of a process, by the names that dashboards know. Not the client's default set: that samples the
 * event loop every 10 ms and the garbage collector always.
 */
export function processMetrics(): { readonly metrics: readonly PlainMetric[]; readonly stop: () => void } {
  const lag = monitorEventLoopDelay({ resolution: lagResolutionMs });
  lag.enable();
  const startedAtSeconds = Date.now() / 1_000 - process.uptime();
  const metrics: readonly PlainMetric[] = [
    gauge("process_start_time_seconds", "Start of the process, Unix time.", () => startedAtSeconds),
    counter("process_cpu_seconds_total", "Processor time, user and system.", () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss()),
    gauge("process_open_fds", "Open file descriptors.", () => readdirSync("/proc/self/fd").length),
    gauge("nodejs_heap_size_used_bytes", "Heap in use.", () => process.memoryUsage().heapUsed),
    gauge("nodejs_external_memory_bytes", "Memory of buffers.", () => process.memoryUsage().external),
    {
      name: "posthorn_event_loop_lag_seconds",
      help: "Delay of the event loop since the last scrape.",
      type: "gauge",
      samples: () => {
        const samples = [50, 99].map((percentile) => ({
          labels: { percentile: `p${percentile}` },
          // What a timer is late by, not how long it waits.
          value: Math.max(0, lag.percentile(percentile) / nanosecondsPerSecond - lagResolutionMs / 1_000),
        }));
        lag.reset();
        return samples;
      },
    },
  ];
  return { metrics, stop: () => void lag.disable() };
}

function gauge(name: string, help: string, read: () => number): PlainMetric {
  return { name, help, type: "gauge", samples: () => [{ labels: {}, value: read() }] };
}

function counter(name: string, help: string, read: () => number): PlainMetric {
  return { name, help, type: "counter", samples: () => [{ labels: {}, value: read() }] };
}
