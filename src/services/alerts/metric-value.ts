import type { AlertMetric, AlertRule } from "../../core/alerts/alert-rule.ts";
import type { Counts } from "../../core/statistics/counts.ts";
import { percentile } from "../../core/statistics/distribution.ts";
import type { FactKind } from "../../core/statistics/facts.ts";
import { keys } from "../../core/statistics/keys.ts";
import type { StatisticsOf } from "../../ports/store/statistics.ts";
import { attemptsOf } from "../statistics/measures.ts";
import type { AlertReadings } from "./alert-readings.ts";

type Measured = Pick<AlertRule, "metric" | "tenantId" | "webhookId" | "eventType" | "attemptsMin">;

/** The buckets that contain the metric of a rule. */
export function bucketsOf({ metric, tenantId, webhookId, eventType }: Measured): {
  readonly kind: FactKind;
  readonly of: StatisticsOf;
} {
  const kind = metric === "published" ? "event" : "delivery";
  const subject = kind === "event" ? eventType : webhookId;
  if (subject !== null) return { kind, of: { level: "subjects", tenantId, subjects: [subject] } };
  return { kind, of: tenantId === null ? { level: "all" } : { level: "tenants", tenantIds: [tenantId] } };
}

/** The value of the metric in a window; null without data. */
export function countedValue({ metric, attemptsMin }: Measured, counts: Counts): number | null {
  const attempts = attemptsOf(counts);
  switch (metric) {
    case "attempts":
      return attempts;
    case "exhausted":
      return counts.get(keys.exhausted);
    case "published":
      return counts.get(keys.published);
    case "failure_rate":
      return attempts < Math.max(1, attemptsMin) ? null : 1 - counts.get(keys.accepted) / attempts;
    case "duration_ms_p95":
      return attempts < Math.max(1, attemptsMin) ? null : percentile(counts, "duration", 0.95);
    default:
      return null;
  }
}

/** The current value of a deployment-wide metric. */
export async function gaugeValue(metric: AlertMetric, readings: AlertReadings): Promise<number | null> {
  if (metric === "places_used") return readings.placesUsed();
  const { waiting, deadLetters } = await readings.depth();
  if (metric === "waiting") return waiting.high + waiting.normal + waiting.low;
  return Iterator.from(deadLetters.values()).reduce((sum, count) => sum + count, 0);
}
