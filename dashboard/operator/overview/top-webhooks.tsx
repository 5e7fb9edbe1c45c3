import { acceptedShare } from "../../shared/charts/outcomes.ts";
import { measure, type Statistics, type StatisticsSeries } from "../../shared/charts/statistics.ts";
import { Sparkline } from "../../shared/charts/sparkline.tsx";
import { useApi } from "../../shared/queries.ts";
import { duration } from "../../shared/time/time-format.ts";
import { DataTable, type Column } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import type { StatisticsRange } from "../statistics-range.ts";
import { WebhookLink } from "../webhook/webhook-link.tsx";

const isOther = ({ key }: StatisticsSeries) => key === null || key === "other";

const columns: readonly Column<StatisticsSeries>[] = [
  {
    title: "Webhook",
    cell: (row) => (isOther(row) ? "all others" : <WebhookLink id={row.key ?? ""} url={null} />),
  },
  {
    title: "Failures",
    cell: ({ points }) => <Sparkline values={points.map(failuresOf)} tone="bad" />,
  },
  {
    title: "Accepted",
    cell: ({ totals }) =>
      acceptedShare({
        accepted: measure(totals, "accepted") ?? 0,
        attempts: measure(totals, "attempts") ?? 0,
      }),
    isFigure: true,
  },
  {
    title: "Requests",
    cell: ({ totals }) => (measure(totals, "attempts") ?? 0).toLocaleString(),
    isFigure: true,
  },
  {
    title: "p95",
    cell: ({ totals }) => {
      const most = measure(totals, "duration_ms_p95");
      return most === null ? "–" : duration(most);
    },
    isFigure: true,
  },
];

function failuresOf(counts: Readonly<Record<string, unknown>>): number {
  return (measure(counts, "transient") ?? 0) + (measure(counts, "terminal") ?? 0);
}

const shownMax = 6;

/** Those with most failures first. */
export function TopWebhooks({ range }: { readonly range: StatisticsRange }) {
  const query = {
    ...range.query,
    group_by: "webhook",
    measures: "attempts,accepted,transient,terminal,duration_ms_p95",
  };
  const loaded = useApi<Statistics>({ path: "v1/stats/deliveries", query });
  const rows = (loaded.data?.series ?? [])
    .toSorted((left, right) => failuresOf(right.totals) - failuresOf(left.totals))
    .slice(0, shownMax);
  return (
    <Panel
      title="Webhooks by failures"
      loaded={loaded}
      twin={{ path: "v1/stats/deliveries", query, cli: `stats deliveries --group-by webhook${range.flags}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No webhook got a request.</p>
      ) : (
        <DataTable
          caption="Webhooks by failures"
          columns={columns}
          rows={rows}
          keyOf={({ key }) => key ?? "all"}
        />
      )}
    </Panel>
  );
}
