import type { Metric, Registry } from "@prometheus-io/client";

/** One line of the exposition. */
export interface Sample {
  /** Defaults to the name of the metric. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * A histogram with fixed upper bounds. Observations are counted in an array and converted to samples when metrics are
 * scraped.
 */
export class Buckets {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;
  #count = 0;

  /** Upper bounds in ascending order. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length);
  }

  observe(value: number): void {
    this.#count += 1;
    this.#sum += value;
    const bounds = this.#bounds;
    for (let index = 0; index < bounds.length; index += 1) {
      if (value <= (bounds[index] as number)) {
        this.#counts[index] = (this.#counts[index] as number) + 1;
        return;
      }
    }
  }

  samples(name: string, labels: Readonly<Record<string, string>> = {}): readonly Sample[] {
    let below = 0;
    const buckets = this.#bounds.map((bound, index): Sample => {
      below += this.#counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { le: "+Inf", ...labels }, value: this.#count },
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ];
  }
}

/**
 * Limits the values of a label that users choose. Each value is a time series, and a publisher that invents names must
 * not grow the memory of this process or of Prometheus without limit.
 */
export class LabelValues {
  readonly #known = new Set<string>();
  /**
   * Number of admitted label values per tenant. The map is bounded, because each tenant in it has at least one admitted
   * value.
   */
  readonly #admitted = new Map<string, number>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /**
   * Returns the value while there is space, and `other` after that. An admitted value stays admitted. If tenants choose
   * the values, a tenant may admit another value only if more values remain than it has admitted. The first tenant can
   * thus admit half of all values, the next one half of the rest, and so on.
   */
  admit(value: string, tenantId?: string): string {
    if (this.#known.has(value)) return value;
    const own = tenantId === undefined ? 0 : (this.#admitted.get(tenantId) ?? 0);
    const left = this.#countMax - this.#known.size;
    if (left <= 0 || (tenantId !== undefined && own >= left)) return otherValue;
    this.#known.add(value);
    if (tenantId !== undefined) this.#admitted.set(tenantId, own + 1);
    return value;
  }
}

/** Replaces every value beyond the limit. */
export const otherValue = "other";

export interface PlainMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  /** Called when metrics are scraped. If it rejects, only this metric is omitted. */
  readonly samples: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/**
 * Registers metrics whose values are computed when metrics are scraped. The client's own classes look up labels in a
 * tree of maps on every call, which is too slow during a delivery; its registry only needs `get`.
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
    // This happens, for example, if the store is unavailable. The scrape must still return the other metrics.
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
