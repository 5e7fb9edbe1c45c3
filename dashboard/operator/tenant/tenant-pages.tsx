import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import type { Statistics } from "../../shared/charts/statistics.ts";
import { useApi } from "../../shared/queries.ts";
import { fieldText, type Page, type Row, type Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";
import type { ApiTwin } from "../../shared/ui/as-api.tsx";
import { type Column, DataTable, Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayAdminister } from "../form/action-button.tsx";
import { type FormBody, typedOf } from "../form/form-fields.ts";
import { ResourceForm, saveChanges } from "../form/resource-form.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { OpenPortal } from "../portal/portal-page.tsx";
import {
  OutcomesPanel,
  PublishedPanel,
  useStatisticsRange,
  usualRange,
  zoneQuery,
} from "../statistics/traffic-panels.tsx";
import { WebhookBadge, WebhookLink } from "../webhook/webhook-link.tsx";
import { TenantChannels } from "./tenant-channels.tsx";
import { tenantCommand, tenantFields } from "./tenant-fields.ts";

const tenantColumns: readonly Column<Row>[] = [
  {
    title: "Tenant",
    cell: (row) => (
      <a href={pagePath(`tenants/${encodeURIComponent(fieldText(row, "id"))}`)} class="row-link">
        {fieldText(row, "id")}
      </a>
    ),
  },
  { title: "Name", cell: (row) => fieldText(row, "name") },
  { title: "Rate limit", cell: (row) => rateText(row["rate_limit"]), needs: "medium" },
  {
    title: "Maximum webhooks",
    cell: (row) => fieldText(row, "webhooks_max") || "–",
    isFigure: true,
    needs: "medium",
  },
  { title: "Pool", cell: (row) => fieldText(row, "worker_pool"), needs: "medium" },
  {
    title: "Portal",
    cell: (row) => <OpenPortal tenantId={fieldText(row, "id")} />,
    needs: "medium",
  },
  { title: "Created", cell: (row) => <When at={fieldText(row, "created_at")} />, isFigure: true },
];

function rateText(limit: unknown): string {
  if (typeof limit !== "object" || limit === null) return "none";
  return `${fieldText(limit as Row, "requests_per_minute")} per minute`;
}

export function TenantsPage() {
  return (
    <>
      <h1>Tenants</h1>
      <ResourceList<Row>
        title="Tenants"
        path="v1/tenants"
        cli={shell`tenants list`}
        columns={tenantColumns}
        keyOf={(row) => fieldText(row, "id")}
        none={<p class="soft">No tenants.</p>}
      />
    </>
  );
}

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
      <TenantWebhooks tenantId={id} />
      <TenantChannels tenantId={id} />
      <TenantKeys tenantId={id} />
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

function TenantWebhooks({ tenantId }: { readonly tenantId: string }) {
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

function TenantKeys({ tenantId }: { readonly tenantId: string }) {
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

interface VolumeProps {
  /** Filters in addition to the range. */
  readonly query: Readonly<Record<string, string>>;
  /** Equivalent CLI options. */
  readonly flags: ShellText;
}

/** Charts of published events and of request outcomes. */
function VolumeCharts({ query, flags }: VolumeProps) {
  const range = useStatisticsRange();
  const asked = { ...range.query, ...query, ...zoneQuery() };
  const events = useApi<Statistics>({ path: "v1/stats/events", query: asked });
  const deliveries = useApi<Statistics>({
    path: "v1/stats/deliveries",
    query: { ...asked, measures: "attempts,accepted,transient,terminal" },
  });
  return (
    <div class="columns-2">
      <PublishedPanel {...{ range, query, flags }} loaded={events} />
      <OutcomesPanel {...{ range, query, flags }} loaded={deliveries} />
    </div>
  );
}

export function EditTenantPage() {
  const { params } = useRoute();
  const { go } = useAddress();
  const id = params["id"] ?? "";
  const path = `v1/tenants/${encodeURIComponent(id)}`;
  const page = pagePath(`tenants/${encodeURIComponent(id)}`);
  const { data, error } = useApi<Row>({ path }, { everyMs: false });
  if (data === null) return <NotLoaded error={error} />;
  const before = typedOf(tenantFields, data);
  const callOf = (body: FormBody["body"]): ApiTwin => ({
    method: "PUT",
    path,
    body,
    cli: tenantCommand(id, body),
  });
  const send = async (body: FormBody["body"]) => {
    await saveChanges(body, callOf(body));
    go(page);
  };
  return (
    <>
      <p class="trail">
        <a href={page}>{fieldText(data, "name") || id}</a>
      </p>
      <h1>Edit tenant</h1>
      <ResourceForm
        fields={tenantFields}
        before={before}
        isNew={false}
        label="Save"
        send={send}
        twinOf={callOf}
      />
    </>
  );
}
