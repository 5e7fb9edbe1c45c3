import { fieldText, type Row } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { OpenPortal } from "../portal/open-portal.tsx";
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
        columns={columns}
        keyOf={(row) => fieldText(row, "id")}
        none={<p class="soft">No tenants.</p>}
      />
    </>
  );
}
