import type {
  GaugesView,
  StatisticsView,
  WebhookStatistics,
} from "../../services/statistics/statistics-service.ts";
import { formatInstant } from "./instant.ts";

export function statisticsJson(view: StatisticsView): Record<string, unknown> {
  return {
    step_seconds: view.stepSeconds,
    from: formatInstant(view.from),
    to: formatInstant(view.to),
    complete_until: formatInstant(view.completeUntil),
    lag_seconds: view.lagSeconds,
    series: view.series.map(({ key, points, totals }) => ({
      key,
      points: points.map(({ at, isPartial, measures }) => {
        return { at: formatInstant(at), ...(isPartial && { partial: true }), ...measures };
      }),
      totals,
    })),
  };
}

export function webhookStatisticsJson({ from, to, totals }: WebhookStatistics): Record<string, unknown> {
  return { from: formatInstant(from), to: formatInstant(to), ...totals };
}

export function gaugesJson({ stepSeconds, from, to, points }: GaugesView): Record<string, unknown> {
  return {
    step_seconds: stepSeconds,
    from: formatInstant(from),
    to: formatInstant(to),
    points: points.map(({ at, isPartial, processes, gauges }) => {
      return { at: formatInstant(at), ...(isPartial && { partial: true }), processes, ...gauges };
    }),
  };
}
