import { Registry } from "@prometheus-io/client";
import type { CircuitState } from "../../../core/circuit-breaker.ts";
import { priorities } from "../../../core/delivery.ts";
import type { Outcome } from "../../../core/outcome.ts";
import type { StoreDepth } from "../../../ports/store/deliveries.ts";
import type { AttemptFact, Metrics } from "../../../ports/telemetry.ts";
import { Buckets } from "./buckets.ts";
import { DeliveryCounts } from "./delivery-counts.ts";
import { DurationQuantiles } from "./duration-quantiles.ts";
import { LabelValues, otherValue } from "./label-values.ts";
import { registerPlain } from "./plain-metric.ts";
import type { PlainMetric, Sample } from "./plain-metric.ts";
import { processMetrics } from "./process-metrics.ts";

/** What is read when somebody scrapes, from parts that are made after the metrics. */
export interface MetricSources {
  readonly depth: () => Promise<StoreDepth>;
  readonly circuits: () => Iterable<{ readonly webhookId: string; readonly state: CircuitState }>;
  readonly activity: () => { readonly inFlight: number; readonly concurrency: number; readonly uncommitted: number; readonly webhooks: number };
  readonly openSockets: () => number;
}

export interface PrometheusMetrics {
  readonly metrics: Metrics;
  /** From then on gauges are part of the text. */
  observe(sources: MetricSources): void;
  /** The exposition format. */
  text(): Promise<string>;
  stop(): void;
}

const quantilePeriodMs = 60_000;
const webhooksMax = 500;
const tenantsMax = 200;
/** Webhooks whose circuit is not closed; beyond this many, which ones hardly matters. */
const circuitsMax = 1_000;

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
    text: () => registry.metrics(),
    stop: process.stop,
  };
}

class FactCounts implements Metrics {
  readonly #monotonicMs: () => number;
  readonly #deliveries = new DeliveryCounts();
  readonly #durations: DurationQuantiles;
  readonly #attemptNumbers: Readonly<Record<Outcome, Buckets>> = {
    accepted: new Buckets(attemptBounds),
    transient: new Buckets(attemptBounds),
    terminal: new Buckets(attemptBounds),
  };
  readonly #transitions = new Map<string, { readonly from: CircuitState; readonly to: CircuitState; count: number }>();
  readonly #limitedWebhooks = new LabelValues(webhooksMax);
  readonly #limitHits = new Map<string, number>();
  readonly #commitSizes = new Buckets([1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]);
  readonly #commitSeconds = new Buckets([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]);
  #published = 0;
  #duplicates = 0;
  #largePayloads = 0;
  #sinceFade = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#durations = new DurationQuantiles({ periodMs: quantilePeriodMs, now: monotonicMs() });
  }

  attemptSettled(fact: AttemptFact): void {
    this.#deliveries.add(fact);
    this.#attemptNumbers[fact.outcome].observe(fact.attemptNumber);
    this.#durations.observe(fact.durationMs);
    this.#sinceFade += 1;
    // Without this, what nobody scrapes would never fade; the clock is too dear to ask every time.
    if (this.#sinceFade > 1_000) this.#fade();
  }

  eventPublished(fact: { readonly duplicate: boolean }): void {
    if (fact.duplicate) this.#duplicates += 1;
    else this.#published += 1;
  }

  circuitMoved({ from, to }: { readonly from: CircuitState; readonly to: CircuitState }): void {
    this.#transitions.getOrInsertComputed(`${from} ${to}`, () => ({ from, to, count: 0 })).count += 1;
  }

  rateLimited(webhookId: string): void {
    const label = this.#limitedWebhooks.admit(webhookId);
    this.#limitHits.set(label, (this.#limitHits.get(label) ?? 0) + 1);
  }

  largePayload(): void {
    this.#largePayloads += 1;
  }

  commitWritten(fact: { readonly writes: number; readonly durationMs: number }): void {
    this.#commitSizes.observe(fact.writes);
    this.#commitSeconds.observe(fact.durationMs / 1_000);
  }

  plainMetrics(): readonly PlainMetric[] {
    return [...this.#deliveryMetrics(), ...this.#ownMetrics()];
  }

  #deliveryMetrics(): readonly PlainMetric[] {
    return [
      {
        name: "webhook_deliveries_total",
        help: "Attempts by the state of their delivery afterwards. Rare event types and tenants beyond a bound are counted as other.",
        type: "counter",
        samples: () => this.#deliveries.samples(),
      },
      {
        name: "webhook_delivery_duration_seconds",
        help: "Duration of one request over the last one to two minutes.",
        type: "summary",
        samples: () => this.#durationSamples(),
      },
      {
        name: "webhook_retry_attempt_number",
        help: "Number of the attempt that had this outcome; 1 is the first.",
        type: "histogram",
        samples: () =>
          Object.entries(this.#attemptNumbers).flatMap(([outcome, buckets]) =>
            buckets.samples("webhook_retry_attempt_number", { outcome }),
          ),
      },
      {
        name: "webhook_circuit_breaker_transitions_total",
        help: "Moves of circuit breakers.",
        type: "counter",
        samples: () =>
          [...this.#transitions.values()].map(({ from, to, count }) => ({
            labels: { from_state: from, to_state: to },
            value: count,
          })),
      },
      {
        name: "webhook_rate_limit_hits_total",
        help: "Deliveries held back by a rate limit. Webhooks beyond a bound are counted as other.",
        type: "counter",
        samples: () => [...this.#limitHits].map(([webhookId, value]) => ({ labels: { webhook_id: webhookId }, value })),
      },
    ];
  }

  #ownMetrics(): readonly PlainMetric[] {
    const single = (name: string, help: string, read: () => number): PlainMetric => ({
      name,
      help,
      type: "counter",
      samples: () => [{ labels: {}, value: read() }],
    });
    const histogram = (name: string, help: string, buckets: Buckets): PlainMetric => ({
      name,
      help,
      type: "histogram",
      samples: () => buckets.samples(name),
    });
    return [
      single("posthorn_events_published_total", "Events accepted.", () => this.#published),
      single("posthorn_events_duplicate_total", "Publishes answered as duplicates.", () => this.#duplicates),
      single("posthorn_large_payloads_total", "Payloads above the recommended size.", () => this.#largePayloads),
      histogram("posthorn_commit_writes", "Writes in one grouped commit.", this.#commitSizes),
      histogram("posthorn_commit_duration_seconds", "Duration of one grouped commit.", this.#commitSeconds),
    ];
  }

  #durationSamples(): readonly Sample[] {
    this.#fade();
    const name = "webhook_delivery_duration_seconds";
    const quantiles = [0.5, 0.95, 0.99].map((share): Sample => ({
      // WDS-228 names the label `percentile`; `quantile` is what the format asks of a summary.
      labels: { quantile: share, percentile: `p${share * 100}` },
      value: this.#durations.quantile(share) / 1_000,
    }));
    return [
      ...quantiles,
      { metricName: `${name}_sum`, labels: {}, value: this.#durations.sumMs / 1_000 },
      { metricName: `${name}_count`, labels: {}, value: this.#durations.count },
    ];
  }

  #fade(): void {
    this.#sinceFade = 0;
    this.#durations.fade(this.#monotonicMs());
  }
}

const attemptBounds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20];

function gauges(sources: MetricSources): readonly PlainMetric[] {
  const single = (name: string, help: string, read: () => number): PlainMetric => ({
    name,
    help,
    type: "gauge",
    samples: () => [{ labels: {}, value: read() }],
  });
  return [
    {
      name: "webhook_queue_depth",
      help: "Deliveries that wait, by priority.",
      type: "gauge",
      samples: async () => {
        const { waiting } = await sources.depth();
        return priorities.map((priority) => ({ labels: { priority }, value: waiting[priority] }));
      },
    },
    {
      name: "webhook_dlq_size",
      help: "Dead letters by tenant; the smallest tenants beyond a bound are added up as other.",
      type: "gauge",
      samples: async () => deadLetterSamples((await sources.depth()).deadLetters),
    },
    {
      name: "webhook_circuit_breaker_state",
      help: "1 for the state of a circuit that is not closed; closed ones are left out.",
      type: "gauge",
      samples: () => circuitSamples(sources.circuits()),
    },
    {
      name: "webhook_worker_pool_utilization",
      help: "Share of the allowed requests that are in flight, 0 to 1.",
      type: "gauge",
      samples: () => {
        const { inFlight, concurrency } = sources.activity();
        return [{ labels: { pool_id: "deliveries" }, value: inFlight / concurrency }];
      },
    },
    single("posthorn_requests_in_flight", "Requests in flight.", () => sources.activity().inFlight),
    single("posthorn_writes_uncommitted", "Results that wait for a commit.", () => sources.activity().uncommitted),
    single("posthorn_webhooks", "Webhooks that are not deleted.", () => sources.activity().webhooks),
    single("posthorn_open_sockets", "Sockets to receivers, idle ones included.", sources.openSockets),
  ];
}

function deadLetterSamples(deadLetters: ReadonlyMap<string, number>): readonly Sample[] {
  const bySize = [...deadLetters].toSorted(([, a], [, b]) => b - a);
  const shown = bySize.slice(0, tenantsMax);
  const rest = bySize.slice(tenantsMax).reduce((sum, [, count]) => sum + count, 0);
  const all = rest === 0 ? shown : [...shown, [otherValue, rest] as const];
  return all.map(([tenantId, value]) => ({ labels: { tenant_id: tenantId }, value }));
}

function circuitSamples(circuits: ReturnType<MetricSources["circuits"]>): readonly Sample[] {
  const samples: Sample[] = [];
  for (const { webhookId, state } of circuits) {
    if (state === "closed") continue;
    if (samples.length >= circuitsMax) break;
    samples.push({ labels: { webhook_id: webhookId, state }, value: 1 });
  }
  return samples;
}
