import type { GaugesView, PointView, StatisticsView, WebhookStatistics } from "./statistics-service.ts";
import type { WaitingCount } from "../../ports/store/history.ts";
import { formatInstant } from "../../http/mapping.ts";

export function statisticsJson(view: StatisticsView): Record<string, unknown> {
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

export function gaugesJson({ stepSeconds, from, to, points, now }: GaugesView): Record<string, unknown> {
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
