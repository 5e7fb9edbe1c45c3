import { callApi } from "../../shared/api.ts";
import { now } from "../../shared/clock.ts";
import { useApi } from "../../shared/queries.ts";
import { fieldText, type Page, type Row } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { DataTable, type Column } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton } from "../action-button.tsx";

function stateOf(row: Row): { readonly tone: Tone; readonly text: string } {
  if (row["ended_at"] !== null) return { tone: "off", text: "ended" };
  if (Date.parse(fieldText(row, "expires_at")) <= now.value) return { tone: "off", text: "expired" };
  if (row["redeemed_at"] === null) return { tone: "wait", text: "not opened" };
  return { tone: "good", text: "in use" };
}

function End({ row }: { readonly row: Row }) {
  const { tone } = stateOf(row);
  if (tone === "off") return null;
  const end = () => callApi({ method: "DELETE", path: `v1/portal-sessions/${fieldText(row, "id")}` });
  const whose = fieldText(row, "reference") || fieldText(row, "tenant_id");
  return <ActionButton label={`End ${whose}`} run={end} done="Session ended" />;
}

const columns: readonly Column<Row>[] = [
  { title: "User", cell: (row) => fieldText(row, "reference") || <span class="soft">unnamed</span> },
  { title: "Tenant", cell: (row) => fieldText(row, "tenant_id"), needs: "medium" },
  {
    title: "State",
    cell: (row) => {
      const { tone, text } = stateOf(row);
      return <Badge tone={tone} text={text} />;
    },
  },
  {
    title: "Created",
    cell: (row) => <When at={fieldText(row, "created_at")} />,
    isFigure: true,
    needs: "medium",
  },
  { title: "Ends", cell: (row) => <When at={fieldText(row, "expires_at")} />, isFigure: true },
  { title: "", cell: (row) => <End row={row} /> },
];

/** Portal sessions of the last day. */
export function PortalSessions({ tenantId }: { readonly tenantId: string | null }) {
  const query = { limit: 25, tenant_id: tenantId };
  const loaded = useApi<Page<Row>>({ path: "v1/portal-sessions", query });
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="Sessions"
      loaded={loaded}
      twin={{ path: "v1/portal-sessions", query, cli: shell`portal-sessions list` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No portal sessions in the last 24 hours.</p>
      ) : (
        <DataTable
          caption="Portal sessions, newest first"
          columns={columns}
          rows={rows}
          keyOf={(row) => fieldText(row, "id")}
          hasNoLinks
        />
      )}
    </Panel>
  );
}
