import type { Metric, Registry } from "@prometheus-io/client";
import type { Buckets } from "./buckets.ts";
import type { Sample } from "./sample.ts";

export interface PlainMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  /** Runs on scraping. A rejection leaves out this metric only. */
  readonly samples: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/**
 * Registers metrics whose values are computed on scraping. The client's own classes look labels up in a tree of maps on
 * every call, which is too slow for the path of a delivery; its registry only needs `get`.
 */
export function registerPlain(registry: Registry, metrics: readonly PlainMetric[]): void {
  for (const { name, help, type, samples } of metrics) {
    const get = async () => ({ name, help, type, aggregator: "sum", values: await samplesOrNone(samples) });
    registry.registerMetric({ name, help, type, get } as unknown as Metric);
  }
}

async function samplesOrNone(samples: PlainMetric["samples"]): Promise<readonly Sample[]> {
  try {
    return await samples();
  } catch {
    // For example, the store is down. The scrape must still return the other metrics.
    return [];
  }
}

/** A metric with one value and no labels. */
export function single(
  name: string,
  type: "counter" | "gauge",
  help: string,
  read: () => number | Promise<number>,
): PlainMetric {
  return { name, help, type, samples: async () => [{ labels: {}, value: await read() }] };
}

export function histogram(name: string, help: string, buckets: Buckets): PlainMetric {
  return { name, help, type: "histogram", samples: () => buckets.samples(name) };
}
