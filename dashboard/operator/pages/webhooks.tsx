import { Sparkline } from "../../shared/charts/sparkline.tsx";
import { useApi } from "../../shared/queries.ts";
import type { ListedWebhook, Page } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { duration } from "../../shared/time/time-format.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../action-button.tsx";
import { pageSize, ResourceList } from "../list-page.tsx";
import { useCourses } from "../webhook/courses.ts";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { WebhookBadge } from "../webhook/webhook-badge.tsx";

const query = { include: "stats" };

function columnsOf(courses: ReturnType<typeof useCourses>): readonly Column<ListedWebhook>[] {
  return [
    { title: "URL", cell: (row) => <WebhookLink id={row.id} url={row.url} /> },
    { title: "State", cell: (row) => <WebhookBadge webhook={row} /> },
    { title: "Events", cell: (row) => row.events.join(", "), needs: "medium" },
    { title: "Tenant", cell: (row) => row.tenant_id, needs: "wide" },
    {
      title: "24 hours",
      cell: (row) => <Sparkline values={courses.get(row.id) ?? []} />,
      needs: "medium",
    },
    {
      title: "Requests",
      cell: ({ stats }) => (stats?.attempts ?? 0).toLocaleString(),
      isFigure: true,
      needs: "medium",
    },
    { title: "Failed", cell: ({ stats }) => failedText(stats?.failure_rate ?? null), isFigure: true },
    {
      title: "p95",
      cell: ({ stats }) => durationText(stats?.duration_ms_p95 ?? null),
      isFigure: true,
      needs: "medium",
    },
    { title: "Last accepted", cell: (row) => <When at={row.last_success_at} />, isFigure: true },
  ];
}

/** Never rounded down to none. */
function failedText(rate: number | null): string {
  return rate === null ? "–" : `${(Math.ceil(rate * 1_000) / 10).toLocaleString()} %`;
}

function durationText(ms: number | null): string {
  return ms === null ? "–" : duration(ms);
}

export function WebhooksPage() {
  // What the list below shows, so that it is asked for once.
  const shown = useApi<Page<ListedWebhook>>({ path: "v1/webhooks", query: { limit: pageSize, ...query } });
  const courses = useCourses((shown.data?.data ?? []).map(({ id }) => id));
  return (
    <>
      <PageHead title="Webhooks">
        {mayManage() && (
          <a class="button primary" href={pagePath("webhooks/new")} data-command="New webhook">
            New webhook
          </a>
        )}
      </PageHead>
      <ResourceList<ListedWebhook>
        title="Webhooks"
        path="v1/webhooks"
        query={query}
        cli="webhooks list"
        columns={columnsOf(courses)}
        keyOf={({ id }) => id}
        none={
          <>
            <p>No webhook is registered yet. This makes one:</p>
            <Command text="posthorn webhooks create https://example.com/hooks --events 'order.*'" />
          </>
        }
      />
    </>
  );
}
