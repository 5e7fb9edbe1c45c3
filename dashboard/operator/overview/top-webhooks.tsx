import { Sparkline } from "../../shared/charts/bars.tsx";
import { useApi } from "../../shared/queries.ts";
import type { ListedWebhook, Page } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { DataTable, type Column } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { useCourses } from "../webhook/courses.ts";
import { durationText, failedText, WaitingText } from "../webhook/webhook-figures.tsx";
import type { Health } from "../webhook/webhook-badge.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";

const shownMax = 6;
/** Sorted and limited by the server, because series of all webhooks would be too many. */
const query = { sort: "failures", limit: shownMax, include: ["stats", "backlog", "health_counts"] };

type WebhooksOfOverview = Page<ListedWebhook> & {
  readonly health_counts?: Readonly<Record<Health, number>>;
};

/** One call for this list and for the health line of the page. */
export function useTopWebhooks() {
  return useApi<WebhooksOfOverview>({ path: "v1/webhooks", query }, { news: "stats" });
}

function columnsOf(courses: ReturnType<typeof useCourses>): readonly Column<ListedWebhook>[] {
  return [
    { title: "Webhook", cell: (row) => <WebhookLink id={row.id} url={row.url} health={row.health} /> },
    { title: "Requests", cell: (row) => <Sparkline values={courses.get(row.id) ?? []} /> },
    { title: "Failed", cell: ({ stats }) => failureCount(stats).toLocaleString(), isFigure: true },
    { title: "Failure rate", cell: ({ stats }) => failedText(stats?.failure_rate ?? null), isFigure: true },
    { title: "Waiting", cell: (row) => <WaitingText backlog={row.backlog ?? null} />, isFigure: true },
    {
      title: "p95",
      cell: ({ stats }) => durationText(stats?.duration_ms_p95 ?? null),
      isFigure: true,
      needs: "medium",
    },
  ];
}

function failureCount(stats: ListedWebhook["stats"]): number {
  return (stats?.attempts ?? 0) - (stats?.accepted ?? 0);
}

/** Webhooks with the most failures in the last day. */
export function TopWebhooks() {
  const loaded = useTopWebhooks();
  const rows = (loaded.data?.data ?? []).filter(({ stats }) => failureCount(stats) > 0);
  const courses = useCourses(rows.map(({ id }) => id));
  return (
    <Panel
      title="Webhooks by failures, last 24 hours"
      loaded={loaded}
      tools={<a href={`${pagePath("webhooks")}?sort=backlog`}>By backlog</a>}
      twin={{ path: "v1/webhooks", query, cli: shell`webhooks list --sort failures` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No failed requests in the last 24 hours.</p>
      ) : (
        <DataTable
          caption="Webhooks by failures"
          columns={columnsOf(courses)}
          rows={rows}
          keyOf={({ id }) => id}
        />
      )}
    </Panel>
  );
}
