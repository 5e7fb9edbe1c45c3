import { measure, type Statistics, type StatisticsSeries } from "../../shared/charts/statistics.ts";
import { minute } from "../../shared/clock.ts";
import { duration } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type { ListedWebhook } from "../../shared/resources.ts";
import { When } from "../../shared/ui/when.tsx";

/** Number of waiting deliveries, and the age of the oldest. */
export function WaitingText({ backlog }: { readonly backlog: ListedWebhook["backlog"] | null }) {
  if (backlog === null || backlog === undefined) return "?";
  const { total, more, oldest_created_at: oldest } = backlog;
  if (total === 0) return "0";
  return (
    <>
      {`${total.toLocaleString()}${more ? "+" : ""}`} <span class="soft">since</span> <When at={oldest} />
    </>
  );
}

/** Share of failures, rounded up so that a failure is never shown as 0%. */
export function failedText(rate: number | null): string {
  return rate === null ? "–" : `${(Math.ceil(rate * 1_000) / 10).toLocaleString()} %`;
}

export function durationText(ms: number | null): string {
  return ms === null ? "–" : duration(ms);
}

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
