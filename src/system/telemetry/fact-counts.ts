import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import type { CircuitState, CircuitTransition } from "../../domain/circuit-breaker.ts";
import type { Outcome } from "../../domain/classify.ts";
import type { GatewayOutcome } from "../../features/gateway/relayed.ts";
import type { Alarm, AttemptFact, Metrics } from "../../ports/telemetry.ts";
import { DeliveryCounts, GatewayCounts } from "./delivery-counts.ts";
import { Buckets, histogram, LabelValues, type PlainMetric, type Sample, single } from "./plain-metric.ts";

/**
 * Quantiles of durations over the last minutes, accurate to 1%. Two histograms alternate, so that readings cover
 * between one and two periods, and old observations expire.
 */
export class DurationQuantiles {
  readonly #periodMs: number;
  #current = newHistogram();
  #previous = newHistogram();
  #startedAt: number;
  count = 0;
  sumMs = 0;

  constructor(periodMs: number, now: number) {
    this.#periodMs = periodMs;
    this.#startedAt = now;
  }

  observe(durationMs: number): void {
    this.count += 1;
    this.sumMs += durationMs;
    this.#current.record(Math.min(durationUsMax, Math.max(1, Math.round(durationMs * 1_000))));
  }

  /** Must be called occasionally, at least once per reading; `now` is monotonic. */
  fade(now: number): void {
    const elapsedMs = now - this.#startedAt;
    if (elapsedMs < this.#periodMs) return;
    const emptied = this.#previous;
    emptied.reset();
    this.#previous = this.#current;
    this.#current = emptied;
    if (elapsedMs >= 2 * this.#periodMs) this.#previous.reset();
    this.#startedAt = now;
  }

  /**
   * Durations in milliseconds for the given shares. NaN without observations, which is Prometheus's value for missing
   * data.
   */
  quantiles(shares: readonly number[]): readonly number[] {
    const all = newHistogram();
    all.add(this.#current);
    all.add(this.#previous);
    return shares.map((share) => (all.count === 0 ? Number.NaN : all.percentile(share * 100) / 1_000));
  }
}

/** One hour, far longer than the longest request. */
const durationUsMax = 3_600_000_000;

function newHistogram(): RecordableHistogram {
  return createHistogram({ lowest: 1, highest: durationUsMax, figures: 2 });
}

const quantilePeriodMs = 60_000;
const webhooksMax = 500;

/** Counts facts in plain maps and arrays, because it is called for every attempt and every event. */
export class FactCounts implements Metrics {
  readonly #monotonicMs: () => number;
  readonly #deliveries = new DeliveryCounts();
  readonly #durations: DurationQuantiles;
  readonly #attemptNumbers: Readonly<Record<Outcome, Buckets>> = {
    accepted: new Buckets(attemptBounds),
    transient: new Buckets(attemptBounds),
    terminal: new Buckets(attemptBounds),
  };
  readonly #transitions = new Map<string, CircuitTransition & { readonly count: number }>();
  readonly #limitedWebhooks = new LabelValues(webhooksMax);
  readonly #limitHits = new Map<string, number>();
  readonly #limitedCalls = new Map<string, number>();
  readonly #notified = new Map<string, number>();
  readonly #gateway = new GatewayCounts();
  readonly #commitSizes = new Buckets([1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]);
  readonly #commitSeconds = new Buckets([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]);
  readonly #alarms: Record<Alarm, number> = {
    delivery_stopped: 0,
    store_restarted: 0,
    lane_stalled: 0,
    local_shortage: 0,
    unexpected_error: 0,
  };
  #published = 0;
  #duplicates = 0;
  #largePayloads = 0;
  #sinceFade = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#durations = new DurationQuantiles(quantilePeriodMs, monotonicMs());
  }

  attemptSettled(fact: AttemptFact): void {
    this.#deliveries.add(fact);
    this.#attemptNumbers[fact.outcome].observe(fact.attemptNumber);
    this.#durations.observe(fact.durationMs);
    this.#sinceFade += 1;
    // Without this, old observations would never expire while nothing scrapes the metrics. Reading the clock for every
    // observation is too expensive.
    if (this.#sinceFade > 1_000) this.#fade();
  }

  eventPublished(isDuplicate: boolean): void {
    if (isDuplicate) this.#duplicates += 1;
    else this.#published += 1;
  }

  circuitMoved(from: CircuitState, to: CircuitState): void {
    const key = `${from} ${to}`;
    const count = (this.#transitions.get(key)?.count ?? 0) + 1;
    this.#transitions.set(key, { from, to, count });
  }

  rateLimited(webhookId: string): void {
    const label = this.#limitedWebhooks.admit(webhookId);
    this.#limitHits.set(label, (this.#limitHits.get(label) ?? 0) + 1);
  }

  apiCallLimited(limit: string): void {
    this.#limitedCalls.set(limit, (this.#limitedCalls.get(limit) ?? 0) + 1);
  }

  notified(channel: string, outcome: string): void {
    const name = `${channel} ${outcome}`;
    this.#notified.set(name, (this.#notified.get(name) ?? 0) + 1);
  }

  gatewayRequest(sourceId: string, outcome: GatewayOutcome, durationMs: number): void {
    this.#gateway.request(sourceId, outcome, durationMs);
  }

  gatewayIncident(kind: string): void {
    this.#gateway.incident(kind);
  }

  largePayload(): void {
    this.#largePayloads += 1;
  }

  commitWritten(writes: number, durationMs: number): void {
    this.#commitSizes.observe(writes);
    this.#commitSeconds.observe(durationMs / 1_000);
  }

  alarmed(alarm: Alarm): void {
    this.#alarms[alarm] += 1;
  }

  plainMetrics(): readonly PlainMetric[] {
    return [
      ...this.#deliveryMetrics(),
      ...this.#ownMetrics(),
      ...this.#alarmMetrics(),
      ...this.#gateway.metrics(),
    ];
  }

  #deliveryMetrics(): readonly PlainMetric[] {
    return [
      {
        name: "webhook_deliveries_total",
        help: "Attempts by the resulting state of their delivery. Rare event types and tenants beyond a limit count as other.",
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
        help: "State changes of circuit breakers.",
        type: "counter",
        samples: () =>
          [...this.#transitions.values()].map(({ from, to, count }) => ({
            labels: { from_state: from, to_state: to },
            value: count,
          })),
      },
      {
        name: "webhook_rate_limit_hits_total",
        help: "Deliveries held back by a rate limit. Webhooks beyond a limit count as other.",
        type: "counter",
        samples: () =>
          [...this.#limitHits].map(([webhookId, value]) => ({ labels: { webhook_id: webhookId }, value })),
      },
    ];
  }

  #ownMetrics(): readonly PlainMetric[] {
    return [
      single("posthorn_events_published_total", "counter", "Events accepted.", () => this.#published),
      single(
        "posthorn_events_duplicate_total",
        "counter",
        "Publishes that were duplicates of earlier events.",
        () => this.#duplicates,
      ),
      single(
        "posthorn_large_payloads_total",
        "counter",
        "Payloads above the recommended size.",
        () => this.#largePayloads,
      ),
      {
        name: "posthorn_api_calls_limited_total",
        help: "API calls that were refused, by the limit they reached.",
        type: "counter",
        samples: () => [...this.#limitedCalls].map(([scope, value]) => ({ labels: { scope }, value })),
      },
      {
        name: "posthorn_notifications_total",
        help: "Notifications by the kind of channel and their outcome.",
        type: "counter",
        samples: () =>
          [...this.#notified].map(([name, value]) => {
            const [channel = "", outcome = ""] = name.split(" ");
            return { labels: { channel, outcome }, value };
          }),
      },
      histogram("posthorn_commit_writes", "Writes in one grouped commit.", this.#commitSizes),
      histogram("posthorn_commit_duration_seconds", "Duration of one grouped commit.", this.#commitSeconds),
    ];
  }

  #alarmMetrics(): readonly PlainMetric[] {
    const counter = (name: string, alarm: Alarm, help: string): PlainMetric =>
      single(name, "counter", help, () => this.#alarms[alarm]);
    return [
      counter(
        "posthorn_deliveries_stopped_total",
        "delivery_stopped",
        "Deliveries that were not sent because event and webhook belong to different tenants.",
      ),
      counter(
        "posthorn_store_restarts_total",
        "store_restarted",
        "Number of times that the database was found to be restarted or replaced.",
      ),
      counter(
        "posthorn_lanes_stalled_total",
        "lane_stalled",
        "Lanes whose deliveries were overdue and unclaimed.",
      ),
      counter(
        "posthorn_requests_postponed_total",
        "local_shortage",
        "Requests that this machine could not send for lack of descriptors, ports or memory; not counted as attempts.",
      ),
      counter(
        "posthorn_unexpected_errors_total",
        "unexpected_error",
        "Attempts that ended with an unexpected exception; they are retried.",
      ),
    ];
  }

  #durationSamples(): readonly Sample[] {
    this.#fade();
    const name = "webhook_delivery_duration_seconds";
    const shares = [0.5, 0.95, 0.99];
    const quantiles = this.#durations.quantiles(shares).map((durationMs, index): Sample => {
      const share = shares[index] ?? 0;
      // WDS-228 names the label `percentile`; the format requires `quantile` for a summary.
      return { labels: { quantile: share, percentile: `p${share * 100}` }, value: durationMs / 1_000 };
    });
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
