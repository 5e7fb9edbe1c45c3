/** What statistics may be asked for. */
import { choice, id, integer, list, timeOrDate, word } from "./field.ts";
import type { Field, Fields } from "./field.ts";
import { tenantIdField } from "./names.ts";

/** How long one point is; `auto` is the shortest that gives a few hundred points at most. */
const statisticsPointSteps = ["auto", "1m", "5m", "1h", "1d"] as const;
export type StatisticsPointStep = (typeof statisticsPointSteps)[number];

const deliveryGroups = ["webhook", "tenant", "status_class", "code", "category"] as const;
export type DeliveryGroup = (typeof deliveryGroups)[number];
const eventGroups = ["event_type", "tenant"] as const;
export type EventGroup = (typeof eventGroups)[number];

export const deliveryMeasures = [
  "attempts",
  "accepted",
  "transient",
  "terminal",
  "unknown",
  "success",
  "exhausted",
  "cancelled",
  "discarded",
  "skipped",
  "failure_rate",
  "duration_ms_p50",
  "duration_ms_p95",
  "duration_ms_p99",
  "lag_ms_p50",
  "lag_ms_p95",
  "lag_ms_p99",
  "total_ms_p50",
  "total_ms_p95",
  "total_ms_p99",
  "bytes",
] as const;
export type DeliveryMeasure = (typeof deliveryMeasures)[number];

export const eventMeasures = ["published", "duplicate", "unmatched", "deliveries"] as const;
export type EventMeasure = (typeof eventMeasures)[number];

export const statisticsSeriesMax = 20;
const severally = "May be repeated.";

/** Of these groups only the number of attempts is known. */
export const groupsOfAttempts: readonly string[] = [
  "status_class",
  "code",
  "category",
] satisfies DeliveryGroup[];

/** Repeated, or in one list with commas. */
function measuresOf(names: readonly string[]): Field<readonly string[]> {
  const name = `(${names.join("|")})`;
  const several = word({
    lengthMax: names.join().length,
    pattern: `^${name}(,${name})*$`,
    rule: `one or several of ${names.join(", ")}, with commas between them`,
    examples: [names.slice(0, 2).join()],
  });
  return list(several, { countMax: names.length, doc: `What points have. ${severally}` });
}

const common = {
  from: timeOrDate({
    doc: "Where it begins, taken back to the beginning of a point. Unless given a day before `to`; with points of a minute half a day, with points of a day 30 days.",
  }),
  to: timeOrDate({ doc: "Where it ends; now unless given." }),
  step: choice(statisticsPointSteps, {
    default: "auto",
    doc: "How long one point is. At most 1,000 points; `auto` is the shortest that gives 300 at most.",
  }),
  limit: integer({
    min: 1,
    max: statisticsSeriesMax,
    default: statisticsSeriesMax,
    doc: "Series at most, those that counted most; the rest is added up as `other`.",
  }),
  timeZone: word({
    lengthMax: 64,
    pattern: "^[A-Za-z0-9_+/-]+$",
    rule: "the name of a time zone such as Europe/Berlin",
    default: "UTC",
    doc: "Whose days `1d` is about. They are sums of whole hours.",
  }),
  tenantId: tenantIdField,
} satisfies Fields;

export const deliveryStatisticsFields = {
  ...common,
  groupBy: choice(deliveryGroups, { doc: "One series for each; one for everything unless given." }),
  webhookIds: list(id(), { countMax: 100, api: "webhook_id", doc: `Only these webhooks. ${severally}` }),
  measures: measuresOf(deliveryMeasures),
} satisfies Fields;

/** Of a process and of the store alone, so neither tenants nor time zones. */
export const gaugeStatisticsFields = {
  from: common.from,
  to: common.to,
  step: common.step,
} satisfies Fields;

export const eventStatisticsFields = {
  ...common,
  groupBy: choice(eventGroups, { doc: "One series for each; one for everything unless given." }),
  measures: measuresOf(eventMeasures),
} satisfies Fields;
