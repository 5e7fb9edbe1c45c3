import { type DeliveryState, deliveryStates } from "../../domain/delivery.ts";
import { failureCategories, type FailureCategory } from "../../domain/classify.ts";
import type { GatewayOutcome } from "../../features/gateway/relayed.ts";
import type { AttemptFact } from "../../ports/telemetry.ts";
import {
  Buckets,
  histogram,
  LabelValues,
  otherValue,
  type PlainMetric,
  type Sample,
} from "./plain-metric.ts";

const sourcesMax = 500;

/** Counts messages to the gateway. */
export class GatewayCounts {
  readonly #sources = new LabelValues(sourcesMax);
  /** Keyed by source and outcome, separated by a space. */
  readonly #requests = new Map<string, number>();
  readonly #incidents = new Map<string, number>();
  readonly #seconds = new Buckets([
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]);

  request(sourceId: string, outcome: GatewayOutcome, durationMs: number): void {
    const name = `${this.#sources.admit(sourceId)} ${outcome}`;
    this.#requests.set(name, (this.#requests.get(name) ?? 0) + 1);
    this.#seconds.observe(durationMs / 1_000);
  }

  incident(kind: string): void {
    this.#incidents.set(kind, (this.#incidents.get(kind) ?? 0) + 1);
  }

  metrics(): readonly PlainMetric[] {
    return [
      {
        name: "posthorn_gateway_requests_total",
        help: "Requests that sources received, by outcome. Sources beyond a limit count as other.",
        type: "counter",
        samples: () =>
          [...this.#requests].map(([name, value]) => {
            const [source = "", outcome = ""] = name.split(" ");
            return { labels: { source, outcome }, value };
          }),
      },
      {
        name: "security_incidents_total",
        help: "Messages to the gateway that indicate an attack, by kind.",
        type: "counter",
        samples: () => [...this.#incidents].map(([kind, value]) => ({ labels: { kind }, value })),
      },
      histogram(
        "posthorn_gateway_request_duration_seconds",
        "Time until the gateway responded to a request.",
        this.#seconds,
      ),
    ];
  }
}

/**
 * Limits on the number of distinct values of one label, and of pairs of values. Each value or pair costs up to a few
 * dozen time series.
 */
const eventTypesMax = 200;
const tenantsMax = 200;
const pairsMax = 1_000;

const noCategory = "none";
const categories = [noCategory, ...failureCategories] as const;
const stateIndex = Object.fromEntries(deliveryStates.map((state, index) => [state, index])) as Record<
  DeliveryState,
  number
>;
const categoryIndex = Object.fromEntries(categories.map((category, index) => [category, index])) as Record<
  FailureCategory | typeof noCategory,
  number
>;

/** `webhook_deliveries_total` (WDS-227): attempts by state, category, event type and tenant. */
export class DeliveryCounts {
  readonly #byTenant = new Map<string, Map<string, Float64Array>>();
  readonly #eventTypes = new LabelValues(eventTypesMax);
  readonly #tenants = new LabelValues(tenantsMax);
  #pairs = 0;

  add(fact: AttemptFact): void {
    const counts = this.#byTenant.get(fact.tenantId)?.get(fact.eventType) ?? this.#admit(fact);
    const index = stateIndex[fact.status] * categories.length + categoryIndex[fact.category ?? noCategory];
    counts[index] = (counts[index] ?? 0) + 1;
  }

  samples(): readonly Sample[] {
    const samples: Sample[] = [];
    for (const [tenantId, byType] of this.#byTenant) {
      for (const [eventType, counts] of byType) addSamples(samples, tenantId, eventType, counts);
    }
    return samples;
  }

  #admit(fact: AttemptFact): Float64Array {
    const tenantId = this.#tenants.admit(fact.tenantId);
    const eventType = this.#eventTypes.admit(fact.eventType, fact.tenantId);
    const found = this.#byTenant.get(tenantId)?.get(eventType);
    if (found !== undefined) return found;
    if (this.#pairs >= pairsMax) return this.#counts(otherValue, otherValue);
    return this.#counts(tenantId, eventType);
  }

  #counts(tenantId: string, eventType: string): Float64Array {
    const byType = this.#byTenant.get(tenantId) ?? new Map<string, Float64Array>();
    this.#byTenant.set(tenantId, byType);
    const found = byType.get(eventType);
    if (found !== undefined) return found;
    this.#pairs += 1;
    const counts = new Float64Array(deliveryStates.length * categories.length);
    byType.set(eventType, counts);
    return counts;
  }
}

function addSamples(samples: Sample[], tenantId: string, eventType: string, counts: Float64Array): void {
  for (const [index, value] of counts.entries()) {
    if (value === 0) continue;
    const labels = {
      status: deliveryStates[Math.floor(index / categories.length)] ?? "",
      event_type: eventType,
      failure_category: categories[index % categories.length] ?? "",
      tenant_id: tenantId,
    };
    samples.push({ labels, value });
  }
}
