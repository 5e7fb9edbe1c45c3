import { useAddress } from "../../shared/address.ts";
import { Sparkline } from "../../shared/charts/bars.tsx";
import { useApi } from "../../shared/queries.ts";
import type { ListedWebhook, Page } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions } from "../../shared/shell-text.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../form/action-button.tsx";
import { LinkedFilters, TextFilter } from "../lists/filters.tsx";
import { pageSize, ResourceList } from "../lists/list-page.tsx";
import { durationText, failedText, useCourses, WaitingText } from "./webhook-figures.tsx";
import { healthStates, healthWords, WebhookBadge, WebhookLink } from "./webhook-link.tsx";

const filterNames = ["status", "health", "circuit", "failing", "paused", "event_type", "tenant_id"];

type SortingBy = (order: string) => NonNullable<Column<ListedWebhook>["sorting"]>;

function columnsOf(
  courses: ReturnType<typeof useCourses>,
  sortingBy: SortingBy,
): readonly Column<ListedWebhook>[] {
  return [
    { title: "URL", cell: (row) => <WebhookLink id={row.id} url={row.url} /> },
    { title: "Health", cell: (row) => <WebhookBadge webhook={row} /> },
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
    {
      title: "Failed",
      cell: ({ stats }) => failedText(stats?.failure_rate ?? null),
      isFigure: true,
      sorting: sortingBy("failure_rate"),
    },
    {
      title: "Waiting",
      cell: (row) => <WaitingText backlog={row.backlog ?? null} />,
      isFigure: true,
      sorting: sortingBy("backlog"),
    },
    {
      title: "p95",
      cell: ({ stats }) => durationText(stats?.duration_ms_p95 ?? null),
      isFigure: true,
      needs: "medium",
    },
    { title: "Last accepted", cell: (row) => <When at={row.last_success_at} />, isFigure: true },
  ];
}

/** All filters except health, which has its own control. */
const linkedNames = filterNames.filter((name) => name !== "health");

function HealthFilter() {
  const { params, set } = useAddress();
  const chosen = params.getAll("health");
  return (
    <fieldset class="chips">
      <legend class="off-screen">Health</legend>
      {healthStates.map((health) => (
        <label key={health} class="chip">
          <input
            type="checkbox"
            checked={chosen.includes(health)}
            onChange={({ currentTarget: { checked } }) =>
              set({ health: checked ? [...chosen, health] : chosen.filter((one) => one !== health) })
            }
          />
          {healthWords[health].text}
        </label>
      ))}
    </fieldset>
  );
}

export function WebhooksPage() {
  const { params, set } = useAddress();
  const sort = params.get("sort");
  const sortingBy: SortingBy = (order) => {
    const isOn = sort === order;
    return { isOn, toggle: () => set({ sort: isOn ? [] : [order] }) };
  };
  const query = {
    include: ["stats", "backlog"],
    sort,
    q: params.get("q"),
    ...Object.fromEntries(filterNames.map((name) => [name, params.getAll(name)])),
  };
  const isNarrowed = ["q", ...filterNames].some((name) => params.has(name));
  // Same query as the list below, so both share one request.
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
      <div class="filters">
        <HealthFilter />
        <TextFilter name="q" label="URL or description" placeholder="example.com" isOneText />
        <LinkedFilters names={linkedNames} />
      </div>
      <ResourceList<ListedWebhook>
        title="Webhooks"
        path="v1/webhooks"
        query={query}
        cli={shell`webhooks list${shellOptions(sort === null ? [] : [["sort", sort]])}`}
        columns={columnsOf(courses, sortingBy)}
        keyOf={({ id }) => id}
        none={
          isNarrowed ? (
            <p class="soft">No matching webhooks.</p>
          ) : (
            <>
              <p>No webhooks yet. Create one with:</p>
              <Command text="posthorn webhooks create https://example.com/hooks --events 'order.*'" />
            </>
          )
        }
      />
    </>
  );
}
