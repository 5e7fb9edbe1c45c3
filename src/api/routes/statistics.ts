import { deliveryStatisticsFields, eventStatisticsFields } from "../../core/fields/statistics.ts";
import type { ApiOptions } from "../context.ts";
import { filtersOf } from "../mapping/fields.ts";
import { statisticsJson } from "../mapping/statistics.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import {
  deliveryStatisticsQuery,
  deliveryStatisticsSchema,
  eventStatisticsQuery,
  eventStatisticsSchema,
} from "../schemas/statistics.ts";

export function statisticsRoutes(options: ApiOptions): readonly Route[] {
  return [deliveriesRoute(options), eventsRoute(options)];
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
