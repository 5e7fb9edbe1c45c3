import {
  deliveryStatisticsFields,
  eventStatisticsFields,
  gaugeStatisticsFields,
} from "../../core/fields/statistics.ts";
import type { ApiOptions } from "../context.ts";
import { filtersOf } from "../mapping/fields.ts";
import { gaugesJson, statisticsJson } from "../mapping/statistics.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import {
  deliveryStatisticsQuery,
  deliveryStatisticsSchema,
  eventStatisticsQuery,
  eventStatisticsSchema,
  gaugeStatisticsQuery,
  gaugeStatisticsSchema,
} from "../schemas/statistics.ts";

export function statisticsRoutes(options: ApiOptions): readonly Route[] {
  return [deliveriesRoute(options), eventsRoute(options), gaugesRoute(options)];
}

const exactness =
  "Counted as deliveries are settled, exact after a crash, and a second or two behind: `complete_until` says how far. " +
  "Percentiles are those of all attempts of a point or of the whole range, within a tenth.";

function deliveriesRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/stats/deliveries",
    operationId: "deliveryStatistics",
    tag: "Statistics",
    summary: "See attempts and deliveries over time",
    description: exactness,
    access: "read",
    capability: "deliveries:read",
    query: deliveryStatisticsQuery,
    answers: {
      200: { description: "One series, or one for each of a group.", schema: deliveryStatisticsSchema },
    },
    errors: [],
    handle: async ({ scope, query }) => {
      const asked = filtersOf(deliveryStatisticsFields, query);
      return { status: 200, body: statisticsJson(await services.statistics.deliveries(scope, asked)) };
    },
  });
}

function eventsRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/stats/events",
    operationId: "eventStatistics",
    tag: "Statistics",
    summary: "See published events over time",
    description: `${exactness} Of more than 500 types of a tenant in a minute the others are counted as \`*\`.`,
    access: "read",
    query: eventStatisticsQuery,
    answers: {
      200: { description: "One series, or one for each of a group.", schema: eventStatisticsSchema },
    },
    errors: [],
    handle: async ({ scope, query }) => {
      const asked = filtersOf(eventStatisticsFields, query);
      return { status: 200, body: statisticsJson(await services.statistics.events(scope, asked)) };
    },
  });
}

function gaugesRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/stats/gauges",
    operationId: "gaugeStatistics",
    tag: "Statistics",
    summary: "See what waited, what was under way and how late processes were, over time",
    description:
      "Read four times a minute by each process and written when the minute is over. What the store has is that of any " +
      "process; requests and the slots for them are added up over those that ran at the same time: `active_requests` of " +
      "`places` and `waiting_requests` of `waiting_places`.",
    access: "admin",
    query: gaugeStatisticsQuery,
    answers: { 200: { description: "Points of the whole installation.", schema: gaugeStatisticsSchema } },
    errors: [],
    handle: async ({ query }) => {
      const asked = filtersOf(gaugeStatisticsFields, query);
      return { status: 200, body: gaugesJson(await services.statistics.gauges(asked)) };
    },
  });
}
