import { gaugeNames } from "../domain/statistics/gauges.ts";
import { choice, type Field, type Fields, id, integer, list, timeOrDate, word } from "./field.ts";
import { tenantIdField } from "./names.ts";
import { closed, instant, nullableSchema, queryOf, type Schema, textOrNull, Type } from "./schema.ts";

/** Parameters of statistics queries. */

/** Length of one point; `auto` picks the shortest that gives no more than a few hundred points. */
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

/** For these groups, only the number of attempts is available. */
export const groupsOfAttempts: readonly string[] = [
  "status_class",
  "code",
  "category",
] satisfies DeliveryGroup[];

/** The parameter may be repeated, or be given as one comma-separated list. */
function measuresOf(names: readonly string[]): Field<readonly string[]> {
  const name = `(${names.join("|")})`;
  const several = word({
    lengthMax: names.join().length,
    pattern: `^${name}(,${name})*$`,
    rule: `one or several of ${names.join(", ")}, separated by commas`,
    examples: [names.slice(0, 2).join()],
  });
  return list(several, { countMax: names.length, doc: `Measures of each interval. ${severally}` });
}

const common = {
  from: timeOrDate({
    doc: "Start of the range, rounded down to the start of an interval. Defaults to half a day before `to` for one-minute intervals, 30 days for one-day intervals, and one day otherwise.",
  }),
  to: timeOrDate({ doc: "End of the range; defaults to now." }),
  step: choice(statisticsPointSteps, {
    default: "auto",
    doc: "Length of one interval. Up to 1,000 intervals; `auto` picks the shortest length that gives no more than 300.",
  }),
  limit: integer({
    min: 1,
    max: statisticsSeriesMax,
    default: statisticsSeriesMax,
    doc: "Maximum number of series, largest first; the rest are combined as `other`.",
  }),
  timeZone: word({
    lengthMax: 64,
    pattern: "^[A-Za-z0-9_+/-]+$",
    rule: "the name of a time zone such as Europe/Berlin",
    default: "UTC",
    doc: "Time zone that defines the days of `1d`, which are sums of whole hours.",
  }),
  tenantId: tenantIdField,
} satisfies Fields;

export const deliveryStatisticsFields = {
  ...common,
  groupBy: choice(deliveryGroups, { doc: "One series per group; a single series if omitted." }),
  webhookIds: list(id(), { countMax: 100, api: "webhook_id", doc: `Only these webhooks. ${severally}` }),
  measures: measuresOf(deliveryMeasures),
} satisfies Fields;

/** Gauges belong to a process or the store, so they have neither tenants nor time zones. */
export const gaugeStatisticsFields = {
  from: common.from,
  to: common.to,
  step: common.step,
} satisfies Fields;

export const eventStatisticsFields = {
  ...common,
  groupBy: choice(eventGroups, { doc: "One series per group; a single series if omitted." }),
  measures: measuresOf(eventMeasures),
} satisfies Fields;

export const deliveryStatisticsQuery = closed(queryOf(deliveryStatisticsFields) as Record<string, never>);
export const eventStatisticsQuery = closed(queryOf(eventStatisticsFields) as Record<string, never>);

export const gaugeStatisticsQuery = closed(queryOf(gaugeStatisticsFields) as Record<string, never>);

function measuresSchema(names: readonly string[]): Record<string, Schema> {
  const entries = names.map((name) => [name, Type.Optional(nullableSchema(Type.Number()))]);
  return Object.fromEntries(entries) as Record<string, Schema>;
}

function statisticsSchema(names: readonly string[], title: string) {
  const measures = measuresSchema(names) as Record<string, never>;
  const point = closed(
    {
      at: instant("Start of the interval."),
      partial: Type.Optional(Type.Boolean("True while the interval is incomplete; otherwise absent.")),
      ...measures,
    },
    {
      title: `${title}Point`,
      description: "The requested measures; a duration is null if nothing was counted.",
    },
  );
  const series = closed(
    {
      key: textOrNull("Subject of the series; null for everything, `other` for groups beyond the limit."),
      points: Type.Array(point, {
        description: "Contiguous from the first interval with a count; gaps are filled with zeros.",
      }),
      totals: closed(measures, { title: `${title}Totals` }),
    },
    { title: `${title}Series` },
  );
  return closed(
    {
      step_seconds: Type.Integer("86,400 for a day, even when clocks change."),
      from: instant("Start of the range, even if the first interval starts later."),
      to: instant("End of the last interval."),
      complete_until: instant("Everything before this time has been counted."),
      lag_seconds: Type.Number("Age of `complete_until`."),
      series: Type.Array(series, { description: "The series with the highest counts first." }),
    },
    { title },
  );
}

export const deliveryStatisticsSchema = statisticsSchema(deliveryMeasures, "DeliveryStatistics");
export const eventStatisticsSchema = statisticsSchema(eventMeasures, "EventStatistics");

const gaugeSummary = closed(
  { min: Type.Number(), mean: Type.Number(), max: Type.Number() },
  { title: "GaugeSummary", description: "Minimum, mean and maximum of all samples in the interval." },
);
const gaugeProperties = Object.fromEntries(gaugeNames.map((name) => [name, nullableSchema(gaugeSummary)]));

export const gaugeStatisticsSchema = closed(
  {
    step_seconds: Type.Integer("Length of an interval."),
    from: instant("Start of the range."),
    to: instant("End of the range."),
    now: closed(
      {
        at: instant("Time of the reading."),
        waiting: Type.Integer("Unfinished deliveries of all priorities."),
        waiting_high: Type.Integer(),
        waiting_normal: Type.Integer(),
        waiting_low: Type.Integer(),
        dead_letters: Type.Integer(),
      },
      {
        title: "GaugesNow",
        description: "Current counters of the store; the points are samples of them.",
      },
    ),
    points: Type.Array(
      closed(
        {
          at: instant("Start of the interval."),
          partial: Type.Optional(Type.Boolean("True while the interval is incomplete; otherwise absent.")),
          processes: Type.Integer("Processes that took samples; a restarted process counts again."),
          ...(gaugeProperties as Record<string, never>),
        },
        { title: "GaugePoint", description: "A gauge is null if no process reported it." },
      ),
      { description: "Intervals with data, oldest first." },
    ),
  },
  { title: "GaugeStatistics" },
);
