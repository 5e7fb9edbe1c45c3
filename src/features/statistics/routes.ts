import type { ApiOptions } from "../../http/context.ts";
import { filtersOf } from "../../http/mapping.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import {
  deliveryStatisticsFields,
  deliveryStatisticsQuery,
  deliveryStatisticsSchema,
  eventStatisticsFields,
  eventStatisticsQuery,
  eventStatisticsSchema,
  gaugeStatisticsFields,
  gaugeStatisticsQuery,
  gaugeStatisticsSchema,
} from "../../resources/statistics.ts";
import { gaugesJson, statisticsJson } from "./series.ts";

const exactness =
  "Counted when deliveries are settled, exact even after a crash, and one or two seconds behind: see `complete_until`. " +
  "Percentiles cover all attempts of a point or of the whole range, with an error of up to 10 %.";

export function statisticsRoutes({ services }: ApiOptions): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/stats/deliveries",
      operationId: "deliveryStatistics",
      tag: "Statistics",
      summary: "Get attempts and deliveries over time",
      description: exactness,
      access: "read",
      capability: "deliveries:read",
      query: deliveryStatisticsQuery,
      answers: {
        200: { description: "One series, or one per group.", schema: deliveryStatisticsSchema },
      },
      errors: [],
      handle: async ({ scope, query }) => {
        const asked = filtersOf(deliveryStatisticsFields, query);
        return { status: 200, body: statisticsJson(await services.statistics.deliveries(scope, asked)) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/stats/events",
      operationId: "eventStatistics",
      tag: "Statistics",
      summary: "Get published events over time",
      description: `${exactness} If a tenant has more than 500 types in a minute, further ones are counted as \`*\`.`,
      access: "read",
      query: eventStatisticsQuery,
      answers: {
        200: { description: "One series, or one per group.", schema: eventStatisticsSchema },
      },
      errors: [],
      handle: async ({ scope, query }) => {
        const asked = filtersOf(eventStatisticsFields, query);
        return { status: 200, body: statisticsJson(await services.statistics.events(scope, asked)) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/stats/gauges",
      operationId: "gaugeStatistics",
      tag: "Statistics",
      summary: "Get backlog, requests in flight and process lag over time",
      description:
        "Each process samples four times per minute and writes the samples at the end of the minute. Values of the store come from any one " +
        "process. Requests and request slots are summed over concurrent processes: compare `active_requests` with " +
        "`request_slots`, and `waiting_requests` with `waiting_request_slots`.",
      access: "admin",
      query: gaugeStatisticsQuery,
      answers: { 200: { description: "Points of the whole deployment.", schema: gaugeStatisticsSchema } },
      errors: [],
      handle: async ({ query }) => {
        const asked = filtersOf(gaugeStatisticsFields, query);
        return { status: 200, body: gaugesJson(await services.statistics.gauges(asked)) };
      },
    }),
  ];
}
