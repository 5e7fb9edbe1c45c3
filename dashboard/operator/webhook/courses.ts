import { measure, type Statistics, type StatisticsSeries } from "../../shared/charts/statistics.ts";
import { minute } from "../../shared/clock.ts";
import { useApi } from "../../shared/queries.ts";

/** Maximum series per response. */
const seriesMax = 20;
const hourMs = 3_600_000;

/** Requests per hour over the last day for up to 60 webhooks, with one call per 20 webhooks. */
export function useCourses(ids: readonly string[]): ReadonlyMap<string, readonly (number | null)[]> {
  const from = new Date(Math.floor(minute.value / hourMs) * hourMs - 23 * hourMs).toISOString();
  const ask = (part: number) => {
    const chosen = ids.slice(part * seriesMax, (part + 1) * seriesMax);
    if (chosen.length === 0) return null;
    const query = { group_by: "webhook", step: "1h", measures: "attempts", from, webhook_id: chosen };
    return { path: "v1/stats/deliveries", query };
  };
  const answers = [useApi<Statistics>(ask(0)), useApi<Statistics>(ask(1)), useApi<Statistics>(ask(2))];
  return new Map(answers.flatMap(({ data }) => (data?.series ?? []).map(courseOfSeries)));
}

function courseOfSeries({ key, points }: StatisticsSeries) {
  return [key ?? "", points.map((point) => measure(point, "attempts"))] as const;
}
