import {
  deliveryMeasures,
  deliveryStatisticsFields,
  eventMeasures,
  eventStatisticsFields,
  gaugeStatisticsFields,
} from "../../core/fields/statistics.ts";
import { gaugeNames } from "../../core/statistics/gauges.ts";
import { closed, instant, nullable, queryOf } from "./building-blocks.ts";
import { type Schema, Type } from "./type.ts";

export const deliveryStatisticsQuery = closed(queryOf(deliveryStatisticsFields) as Record<string, never>);
export const eventStatisticsQuery = closed(queryOf(eventStatisticsFields) as Record<string, never>);

export const gaugeStatisticsQuery = closed(queryOf(gaugeStatisticsFields) as Record<string, never>);

function measuresSchema(names: readonly string[]): Record<string, Schema> {
  const entries = names.map((name) => [name, Type.Optional(nullable(Type.Number()))]);
  return Object.fromEntries(entries) as Record<string, Schema>;
}

function statisticsSchema(names: readonly string[], title: string) {
  const measures = measuresSchema(names) as Record<string, never>;
  const point = closed(
    {
      at: instant("Where it begins."),
      partial: Type.Optional(Type.Boolean({ description: "True while it is not over; absent otherwise." })),
      ...measures,
    },
    {
      title: `${title}Point`,
      description: "What was asked for of these; a time is null where nothing was counted.",
    },
  );
  const series = closed(
    {
      key: nullable(
        Type.String({
          description: "What it is about; null for everything, `other` for what is beyond the limit.",
        }),
      ),
      points: Type.Array(point, {
        description: "From the first in which anything was counted; one after the other, with zeros in gaps.",
      }),
      totals: closed(measures, { title: `${title}Totals` }),
    },
    { title: `${title}Series` },
  );
  return closed(
    {
      step_seconds: Type.Integer({ description: "Of a day 86,400, also where clocks change." }),
      from: instant("Where the first point begins, had it any."),
      to: instant("Where the last point ends."),
      complete_until: instant("Everything that happened before is counted."),
      lag_seconds: Type.Number({ description: "How long ago that was." }),
      series: Type.Array(series, { description: "What counted most first." }),
    },
    { title },
  );
}

export const deliveryStatisticsSchema = statisticsSchema(deliveryMeasures, "DeliveryStatistics");
export const eventStatisticsSchema = statisticsSchema(eventMeasures, "EventStatistics");

const gaugeSummary = closed(
  { min: Type.Number(), mean: Type.Number(), max: Type.Number() },
  { title: "GaugeSummary", description: "Of all readings of the point." },
);
const gaugeProperties = Object.fromEntries(gaugeNames.map((name) => [name, nullable(gaugeSummary)]));

export const gaugeStatisticsSchema = closed(
  {
    step_seconds: Type.Integer({ description: "How long one point is." }),
    from: instant("Where the first point would begin."),
    to: instant("Where the last point would end."),
    now: closed(
      {
        at: instant("When these were read."),
        waiting: Type.Integer({ description: "Deliveries of all priorities that have not ended." }),
        waiting_high: Type.Integer(),
        waiting_normal: Type.Integer(),
        waiting_low: Type.Integer(),
        dead_letters: Type.Integer(),
      },
      {
        title: "GaugesNow",
        description: "Counters of the store at this moment; the points are samples of them.",
      },
    ),
    points: Type.Array(
      closed(
        {
          at: instant("Where it begins."),
          partial: Type.Optional(
            Type.Boolean({ description: "True while it is not over; absent otherwise." }),
          ),
          processes: Type.Integer({
            description: "Those that read something; one that was started again counts again.",
          }),
          ...(gaugeProperties as Record<string, never>),
        },
        { title: "GaugePoint", description: "A gauge is null where no process knew it." },
      ),
      { description: "Those of which something is known, oldest first." },
    ),
  },
  { title: "GaugeStatistics" },
);
