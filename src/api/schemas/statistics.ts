import {
  deliveryMeasures,
  deliveryStatisticsFields,
  eventMeasures,
  eventStatisticsFields,
  gaugeStatisticsFields,
} from "../../core/fields/statistics.ts";
import { gaugeNames } from "../../core/statistics/gauges.ts";
import { closed, instant, nullableSchema, queryOf } from "./building-blocks.ts";
import { type Schema, Type } from "./type.ts";

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
      at: instant("Start of the point."),
      partial: Type.Optional(
        Type.Boolean({ description: "True while the point is incomplete; otherwise absent." }),
      ),
      ...measures,
    },
    {
      title: `${title}Point`,
      description: "The requested measures; a duration is null if nothing was counted.",
    },
  );
  const series = closed(
    {
      key: nullableSchema(
        Type.String({
          description: "Subject of the series; null for everything, `other` for groups beyond the limit.",
        }),
      ),
      points: Type.Array(point, {
        description: "Contiguous from the first point with a count; gaps are filled with zeros.",
      }),
      totals: closed(measures, { title: `${title}Totals` }),
    },
    { title: `${title}Series` },
  );
  return closed(
    {
      step_seconds: Type.Integer({ description: "86,400 for a day, even when clocks change." }),
      from: instant("Start of the range, even if the first point is later."),
      to: instant("End of the last point."),
      complete_until: instant("Everything before this time has been counted."),
      lag_seconds: Type.Number({ description: "Age of `complete_until`." }),
      series: Type.Array(series, { description: "The series with the highest counts first." }),
    },
    { title },
  );
}

export const deliveryStatisticsSchema = statisticsSchema(deliveryMeasures, "DeliveryStatistics");
export const eventStatisticsSchema = statisticsSchema(eventMeasures, "EventStatistics");

const gaugeSummary = closed(
  { min: Type.Number(), mean: Type.Number(), max: Type.Number() },
  { title: "GaugeSummary", description: "Over all samples of the point." },
);
const gaugeProperties = Object.fromEntries(gaugeNames.map((name) => [name, nullableSchema(gaugeSummary)]));

export const gaugeStatisticsSchema = closed(
  {
    step_seconds: Type.Integer({ description: "Length of a point." }),
    from: instant("Start of the range."),
    to: instant("End of the range."),
    now: closed(
      {
        at: instant("Time of the reading."),
        waiting: Type.Integer({ description: "Unfinished deliveries of all priorities." }),
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
          at: instant("Start of the point."),
          partial: Type.Optional(
            Type.Boolean({ description: "True while the point is incomplete; otherwise absent." }),
          ),
          processes: Type.Integer({
            description: "Processes that took samples; a restarted process counts again.",
          }),
          ...(gaugeProperties as Record<string, never>),
        },
        { title: "GaugePoint", description: "A gauge is null if no process reported it." },
      ),
      { description: "Points with data, oldest first." },
    ),
  },
  { title: "GaugeStatistics" },
);
