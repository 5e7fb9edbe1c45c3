import { Chart } from "../../shared/charts/chart.tsx";
import { publishedChart, publishedSentence, type Statistics } from "../../shared/charts/statistics.ts";
import type { Query } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Page, Webhook } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { DataTable, type Column } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { useStatisticsRange, zoneQuery } from "../statistics-range.ts";
import { WebhookBadge } from "../webhook/webhook-badge.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";

interface TypeProps {
  readonly name: string;
  /** Selects the tenant. */
  readonly query: Query;
}

/** Events of this type over time. The API returns the 20 most frequent types only. */
export function EventTypeVolume({ name, query: whose }: TypeProps) {
  const range = useStatisticsRange();
  const query = { ...range.query, ...whose, group_by: "event_type" };
  const loaded = useApi<Statistics>({ path: "v1/stats/events", query: { ...query, ...zoneQuery() } });
  const { data } = loaded;
  const own = data?.series.find(({ key }) => key === name);
  return (
    <Panel
      title="Published"
      loaded={loaded}
      twin={{ path: "v1/stats/events", query, cli: shell`stats events --group-by event_type${range.flags}` }}
    >
      {data !== null && own === undefined && (
        <p class="soft">
          {data.series.length < 20
            ? "No events of this type in this time range."
            : "This type is not among the 20 most frequent types in this time range."}
        </p>
      )}
      {data !== null && own !== undefined && (
        <Chart
          kind="bars"
          title="Events"
          chart={publishedChart({ ...data, series: [own] })}
          summary={publishedSentence({ ...data, series: [own] })}
          narrow={range.narrow}
        />
      )}
    </Panel>
  );
}

const columns: readonly Column<Webhook>[] = [
  { title: "URL", cell: (row) => <WebhookLink id={row.id} url={row.url} /> },
  { title: "Health", cell: (row) => <WebhookBadge webhook={row} /> },
  { title: "Event types", cell: (row) => row.events.join(", ") },
];

/** Webhooks that subscribe to this event type. */
export function Subscribers({ name, query: whose }: TypeProps) {
  const query = { ...whose, event_type: name, limit: 50 };
  const loaded = useApi<Page<Webhook>>({ path: "v1/webhooks", query });
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="Subscribed webhooks"
      loaded={loaded}
      twin={{ path: "v1/webhooks", query, cli: shell`webhooks list --event-type ${name}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No webhook subscribes to it.</p>
      ) : (
        <DataTable caption="Subscribed webhooks" columns={columns} rows={rows} keyOf={({ id }) => id} />
      )}
    </Panel>
  );
}
