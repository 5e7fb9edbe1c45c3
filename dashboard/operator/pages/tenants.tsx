import { callApi } from "../../shared/api.ts";
import { fieldText, type Row } from "../../shared/resources.ts";
import { pagePath, root } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton } from "../action-button.tsx";
import { ResourceList } from "../list-page.tsx";

const columns: readonly Column<Row>[] = [
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
    title: "Webhooks at most",
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
  { title: "Made", cell: (row) => <When at={fieldText(row, "created_at")} />, isFigure: true },
];

/** As a customer of this tenant sees it, without the right to change anything; it stands in the audit log. */
function OpenPortal({ tenantId }: { readonly tenantId: string }) {
  const open = async () => {
    const { value } = await callApi<{ readonly url: string }>({
      method: "POST",
      path: "v1/portal-sessions",
      body: {
        tenant_id: tenantId,
        capabilities: ["endpoints:read", "deliveries:read", "payloads:read"],
        reference: "operator",
        theme: { product_name: `${tenantId} (read-only)`.slice(0, 60) },
      },
    });
    const { search, hash } = new URL(value.url);
    window.open(new URL(`portal/${search}${hash}`, root), "_blank", "noopener");
  };
  if (session.value?.role !== "admin") return null;
  return <ActionButton label={`Open as ${tenantId}`} run={open} done="The portal is open in another tab" />;
}

function rateText(limit: unknown): string {
  if (typeof limit !== "object" || limit === null) return "none";
  return `${fieldText(limit as Row, "requests_per_minute")} a minute`;
}

export function TenantsPage() {
  return (
    <>
      <h1>Tenants</h1>
      <ResourceList<Row>
        title="Tenants"
        path="v1/tenants"
        cli="tenants list"
        columns={columns}
        keyOf={(row) => fieldText(row, "id")}
        none={<p class="soft">There are none.</p>}
      />
    </>
  );
}
