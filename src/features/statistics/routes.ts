import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, formatInstant } from "../../http/mapping.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import type { WaitingCount } from "../../ports/store/history.ts";
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
import type { GaugesView, PointView, StatisticsView, WebhookStatistics } from "./statistics-service.ts";

const exactness =
  "Counts are updated when deliveries are settled. They are exact even after a crash, and one or two seconds behind: see `complete_until`. " +
  "Percentiles cover all attempts in an interval or in the whole range, with an error of up to 10%.";

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
      description: `${exactness} If a tenant publishes more than 500 types in a minute, the additional types are counted as \`*\`.`,
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
        "Each process samples four times per minute and writes the samples at the end of the minute. Values of the store come from one of the " +
        "processes. Requests and request slots are summed over concurrent processes: compare `active_requests` with " +
        "`request_slots`, and `waiting_requests` with `waiting_request_slots`.",
      access: "admin",
      query: gaugeStatisticsQuery,
      answers: {
        200: { description: "Data points for the whole deployment.", schema: gaugeStatisticsSchema },
      },
      errors: [],
      handle: async ({ query }) => {
        const asked = filtersOf(gaugeStatisticsFields, query);
        return { status: 200, body: gaugesJson(await services.statistics.gauges(asked)) };
      },
    }),
  ];
}

function statisticsJson(view: StatisticsView): Record<string, unknown> {
  return {
    step_seconds: view.stepSeconds,
    from: formatInstant(view.from),
    to: formatInstant(view.to),
    complete_until: formatInstant(view.completeUntil),
    lag_seconds: view.lagSeconds,
    series: view.series.map(({ key, points, totals }) => ({
      key,
      points: points.map(pointJson),
      totals,
    })),
  };
}

export function pointJson({ at, isPartial, measures }: PointView): Record<string, unknown> {
  return { at: formatInstant(at), ...(isPartial && { partial: true }), ...measures };
}

export function webhookStatisticsJson({ from, to, totals }: WebhookStatistics): Record<string, unknown> {
  return { from: formatInstant(from), to: formatInstant(to), ...totals };
}

/** Null if the time budget did not allow counting. */
export function webhookWaitingJson(waiting: WaitingCount | null | undefined): object | null {
  if (waiting === null) return null;
  if (waiting === undefined) return { total: 0, more: false, oldest_created_at: null };
  const { total, isMore, oldestCreatedAt } = waiting;
  return { total, more: isMore, oldest_created_at: formatInstant(oldestCreatedAt) };
}

function gaugesJson({ stepSeconds, from, to, points, now }: GaugesView): Record<string, unknown> {
  const { high, normal, low } = now.waiting;
  return {
    now: {
      at: formatInstant(now.at),
      waiting: high + normal + low,
      waiting_high: high,
      waiting_normal: normal,
      waiting_low: low,
      dead_letters: [...now.deadLetters.values()].reduce((sum, count) => sum + count, 0),
    },
    step_seconds: stepSeconds,
    from: formatInstant(from),
    to: formatInstant(to),
    points: points.map(({ at, isPartial, processes, gauges }) => {
      return { at: formatInstant(at), ...(isPartial && { partial: true }), processes, ...gauges };
    }),
  };
}
