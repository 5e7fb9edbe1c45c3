import { Counts } from "../../domain/statistics/counts.ts";
import { percentile } from "../../domain/statistics/facts.ts";
import { type DistributionName, keys } from "../../domain/statistics/keys.ts";
import { type DeliveryMeasure, deliveryMeasures, type EventMeasure } from "../../resources/statistics.ts";

type Measuring = (counts: Counts) => number | null;

const count =
  (key: number): Measuring =>
  (counts) =>
    counts.get(key);
const timeAt =
  (name: DistributionName, share: number): Measuring =>
  (counts) => {
    const ms = percentile(counts, name, share);
    return ms === null ? null : Number(ms.toPrecision(3));
  };

/** Every attempt has one of three outcomes, so their sum is the number of attempts. */
export function attemptsOf(counts: Counts): number {
  return counts.get(keys.accepted) + counts.get(keys.transient) + counts.get(keys.terminal);
}

/** Share of attempts that were not accepted, 0 to 1; null without attempts. */
export function failureRateOf(counts: Counts): number | null {
  const attempts = attemptsOf(counts);
  return attempts === 0 ? null : Number((1 - counts.get(keys.accepted) / attempts).toFixed(6));
}

const ofDeliveries: Readonly<Record<DeliveryMeasure, Measuring>> = {
  attempts: attemptsOf,
  accepted: count(keys.accepted),
  transient: count(keys.transient),
  terminal: count(keys.terminal),
  unknown: count(keys.unknown),
  success: count(keys.success),
  exhausted: count(keys.exhausted),
  cancelled: count(keys.cancelled),
  discarded: count(keys.discarded),
  skipped: count(keys.skipped),
  failure_rate: failureRateOf,
  duration_ms_p50: timeAt("duration", 0.5),
  duration_ms_p95: timeAt("duration", 0.95),
  duration_ms_p99: timeAt("duration", 0.99),
  lag_ms_p50: timeAt("lag", 0.5),
  lag_ms_p95: timeAt("lag", 0.95),
  lag_ms_p99: timeAt("lag", 0.99),
  total_ms_p50: timeAt("total", 0.5),
  total_ms_p95: timeAt("total", 0.95),
  total_ms_p99: timeAt("total", 0.99),
  bytes: count(keys.amount),
};

const ofEvents: Readonly<Record<EventMeasure, Measuring>> = {
  published: count(keys.published),
  duplicate: count(keys.duplicate),
  unmatched: count(keys.unmatched),
  deliveries: count(keys.amount),
};

export type Measures = Readonly<Record<string, number | null>>;

export function measured(counts: Counts, wanted: readonly (DeliveryMeasure | EventMeasure)[]): Measures {
  const all: Readonly<Record<DeliveryMeasure | EventMeasure, Measuring>> = { ...ofDeliveries, ...ofEvents };
  return Object.fromEntries(wanted.map((name) => [name, all[name](counts)]));
}

/** Rarely used measures must be requested by name. */
export const deliveryMeasuresDefault = deliveryMeasures.filter(
  (name) => !/^(?:lag|total)_|^bytes$/.test(name),
);

export const measuresOfNoDeliveries = measured(new Counts(), deliveryMeasuresDefault);
