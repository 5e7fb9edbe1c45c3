import { deliveryStates } from "../../../core/delivery.ts";
import type { DeliveryState } from "../../../core/delivery.ts";
import { failureCategories } from "../../../core/outcome.ts";
import type { FailureCategory } from "../../../core/outcome.ts";
import type { AttemptFact } from "../../../ports/telemetry.ts";
import { LabelValues, otherValue } from "./label-values.ts";
import type { Sample } from "./sample.ts";

/** Limits on distinct values of one label, and of pairs: each costs up to a few dozen time series. */
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
    const isFull = this.#pairs >= pairsMax;
    return this.#counts(isFull ? { tenantId: otherValue, eventType: otherValue } : { tenantId, eventType });
  }

  #counts(labels: { readonly tenantId: string; readonly eventType: string }): Float64Array {
    const byType = this.#byTenant.get(labels.tenantId) ?? new Map<string, Float64Array>();
    this.#byTenant.set(labels.tenantId, byType);
    const found = byType.get(labels.eventType);
    if (found !== undefined) return found;
    this.#pairs += 1;
    const counts = new Float64Array(deliveryStates.length * categories.length);
    byType.set(labels.eventType, counts);
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
