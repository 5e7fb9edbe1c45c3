import { useAddress } from "../../shared/address.ts";
import { minute } from "../../shared/clock.ts";
import type { AuditEntry } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions } from "../../shared/shell-text.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { When } from "../../shared/ui/when.tsx";
import { column, only } from "../lists/columns.tsx";
import { type CsvCells, ExportButton } from "../lists/export-button.tsx";
import { TextFilter } from "../lists/filters.tsx";
import { ResourceList } from "../lists/list-page.tsx";

const columns: readonly Column<AuditEntry>[] = [
  { title: "Action", cell: (row) => row.action, value: (row) => only("action", row.action) },
  column.text("When", (row) => <When at={row.at} />),
  {
    title: "Who",
    cell: actorText,
    value: (row) => only("actor", row.actor.key_name ?? row.actor.key_id),
  },
  column.text("From", (row) => row.address ?? "–", "wide"),
  { title: "What", cell: (row) => <Target entry={row} />, value: (row) => only("target", row.target.id) },
  column.text("Tenant", (row) => row.tenant_id ?? "–", "wide"),
  column.prose("Changes", (row) => changesText(row) || "–", "medium"),
];

const pages: Readonly<Record<string, string>> = {
  webhook: "webhooks",
  delivery: "deliveries",
  event: "events",
  problem: "problems",
  source: "sources",
  connection: "connections",
  request: "requests",
  event_type: "event-types",
};

function Target({ entry: { target, action } }: { readonly entry: AuditEntry }) {
  if (target.id === null) return <>{target.type}</>;
  const page = pages[target.type];
  const text = target.id.length === 36 ? `${target.id.slice(0, 13)}…` : target.id;
  if (page === undefined || action.endsWith(".delete")) {
    return (
      <span title={target.id}>
        {target.type.replaceAll("_", " ")} {text}
      </span>
    );
  }
  return (
    <a href={pagePath(`${page}/${encodeURIComponent(target.id)}`)} title={target.id}>
      {target.type.replaceAll("_", " ")} {text}
    </a>
  );
}

const filterNames = ["actor", "action", "target", "tenant_id"] as const;

export function AuditPage() {
  const { params } = useAddress();
  const chosen = Object.fromEntries(filterNames.map((name) => [name, params.get(name)]));
  const query = { ...chosen, ...rangeQuery(params, minute.value) };
  const flags = shellOptions(
    Object.entries(query).flatMap(([name, value]) =>
      value === null ? [] : [[name === "tenant_id" ? "tenant" : name, value] as const],
    ),
  );
  return (
    <>
      <PageHead title="Audit log">
        <RangePicker />
      </PageHead>
      <div class="fields filters">
        <TextFilter name="actor" label="Who" placeholder="key name or ID" isOneText />
        <TextFilter name="action" label="Action" placeholder="webhook.update" isOneText />
        <TextFilter name="target" label="What" placeholder="ID or name" isOneText />
      </div>
      <ResourceList<AuditEntry>
        title="Audit log"
        path="v1/audit-log"
        query={query}
        cli={shell`audit${flags}`}
        columns={columns}
        hasNoLinks
        none="No matching entries."
        tools={
          <ExportButton
            path="v1/audit-log"
            query={query}
            fileName="posthorn-audit-log.csv"
            cells={csvCells}
          />
        }
      />
    </>
  );
}

/** Name of the key, and whether it was used through the dashboard. */
function actorText({ actor }: Pick<AuditEntry, "actor">): string {
  const name = actor.key_name ?? actor.key_id ?? actor.kind.replaceAll("_", " ");
  const onBehalf = actor.reference === null ? "" : `, for ${actor.reference}`;
  return actor.kind === "dashboard_session" ? `${name} (dashboard${onBehalf})` : `${name}${onBehalf}`;
}

/** Old and new values of the changed fields, as text. */
function changesText({ changes }: Pick<AuditEntry, "changes">): string {
  return Object.entries(changes)
    .map(([name, change]) => {
      const { from, to } = change as { readonly from?: unknown; readonly to: unknown };
      return from === undefined
        ? `${name}: ${valueText(to)}`
        : `${name}: ${valueText(from)} → ${valueText(to)}`;
    })
    .join("; ");
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const csvCells: CsvCells<AuditEntry> = {
  "time": (entry) => entry.at,
  "who": actorText,
  "role": (entry) => entry.actor.role,
  "address": (entry) => entry.address,
  "action": (entry) => entry.action,
  "target type": (entry) => entry.target.type,
  "target": (entry) => entry.target.id,
  "tenant": (entry) => entry.tenant_id,
  "changes": changesText,
  "request": (entry) => entry.request_id,
};
