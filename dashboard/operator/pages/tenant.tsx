import { useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import { fieldText, type Page, type Row, type Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions } from "../../shared/shell-text.ts";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { DataTable, Facts, type Column } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayAdminister } from "../action-button.tsx";
import { TenantChannels } from "../notifications/tenant-channels.tsx";
import { usualRange } from "../statistics-range.ts";
import { VolumeCharts } from "../volume-charts.tsx";
import { WebhookBadge } from "../webhook/webhook-badge.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";

export function TenantPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const path = `v1/tenants/${encodeURIComponent(id)}`;
  const loaded = useApi<Row>({ path });
  const { data, error } = loaded;
  if (data === null) {
    return <NotLoaded error={error} />;
  }
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("tenants")}>Tenants</a>
      </p>
      <PageHead title={fieldText(data, "name") || id}>
        <RangePicker fallback={usualRange} />
      </PageHead>
      <Panel
        title="Limits"
        loaded={loaded}
        tools={
          <>
            <a href={`${pagePath("deliveries")}?tenant_id=${encodeURIComponent(id)}`}>Deliveries</a>
            <a href={`${pagePath("portal")}?tenant=${encodeURIComponent(id)}`}>Portal</a>
          </>
        }
        twin={{ path, cli: shell`tenants get ${id}` }}
      >
        <Facts
          rows={[
            ["Id", <code key="id">{id}</code>],
            ...Object.entries(data)
              .filter(([name, value]) => !shownElsewhere.has(name) && value !== null)
              .map(([name]) => [name.replaceAll("_", " "), fieldText(data, name)] as const),
            ["Created", <When key="made" at={fieldText(data, "created_at")} isExact />],
          ]}
        />
        {mayAdminister() && (
          <div class="actions">
            <a class="button" href={pagePath(`tenants/${encodeURIComponent(id)}/edit`)} data-command="Edit">
              Edit
            </a>
          </div>
        )}
      </Panel>
      <VolumeCharts query={{ tenant_id: id }} flags={shellOptions([["tenant", id]])} />
      <Webhooks tenantId={id} />
      <TenantChannels tenantId={id} />
      <Keys tenantId={id} />
    </div>
  );
}

const shownElsewhere = new Set(["id", "name", "created_at", "updated_at"]);

const webhookColumns: readonly Column<Webhook>[] = [
  { title: "URL", cell: (row) => <WebhookLink id={row.id} url={row.url} /> },
  { title: "Health", cell: (row) => <WebhookBadge webhook={row} /> },
  { title: "Events", cell: (row) => row.events.join(", "), needs: "medium" },
  { title: "Last accepted", cell: (row) => <When at={row.last_success_at} />, isFigure: true },
];

function Webhooks({ tenantId }: { readonly tenantId: string }) {
  const query = { tenant_id: tenantId, limit: 50 };
  const loaded = useApi<Page<Webhook>>({ path: "v1/webhooks", query });
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="Webhooks"
      loaded={loaded}
      twin={{ path: "v1/webhooks", query, cli: shell`webhooks list --tenant ${tenantId}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">This tenant has no webhooks.</p>
      ) : (
        <DataTable
          caption="Webhooks of this tenant"
          columns={webhookColumns}
          rows={rows}
          keyOf={({ id }) => id}
        />
      )}
    </Panel>
  );
}

const keyColumns: readonly Column<Row>[] = [
  { title: "Name", cell: (row) => fieldText(row, "name") },
  { title: "Role", cell: (row) => fieldText(row, "role") },
  { title: "Created", cell: (row) => <When at={fieldText(row, "created_at")} />, isFigure: true },
];

function Keys({ tenantId }: { readonly tenantId: string }) {
  // The API cannot filter keys by tenant, and there are few keys.
  const query = { limit: 250 };
  const loaded = useApi<Page<Row>>({ path: "v1/api-keys", query });
  const rows = (loaded.data?.data ?? []).filter((row) => row["tenant_id"] === tenantId);
  return (
    <Panel title="API keys" loaded={loaded} twin={{ path: "v1/api-keys", query, cli: null }}>
      {rows.length === 0 ? (
        <p class="soft">This tenant has no API keys.</p>
      ) : (
        <DataTable
          caption="API keys of this tenant"
          columns={keyColumns}
          rows={rows}
          keyOf={(row) => fieldText(row, "id")}
          hasNoLinks
        />
      )}
    </Panel>
  );
}
