import type { Command } from "commander";
import { auditFilterOptions, auditFilters } from "../../resources/audit.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { addFieldOptions, addTimeRange, queryOf, tenantOption, timeRangeOf } from "../plain-commands.ts";
import { cellText, columns, timeIn } from "../table.ts";

const auditColumns = columns<Json>({
  "WHEN (UTC)": timeIn("at"),
  WHO: (row) => actorText(row["actor"] as Json),
  FROM: "address",
  ACTION: "action",
  TARGET: (row) => (row["target"] as Json)["id"],
  TENANT: "tenant_id",
  CHANGES: (row) => changesText(row["changes"] as Json),
});

export function addAuditCommand(program: Command, invocation: Invocation): void {
  const audit = addPageOptions(
    program.command("audit").description("list changes and who made them, newest first"),
  );
  addFieldOptions(audit, auditFilters, auditFilterOptions);
  addTimeRange(audit, "").addOption(tenantOption());
  clientCommand(audit, invocation, (call) => {
    const { options } = call;
    return printList(call, "/v1/audit-log", auditColumns, "no changes", {
      ...queryOf(options, auditFilters, auditFilterOptions),
      ...timeRangeOf(options),
      tenant_id: options.text("tenant"),
    });
  });
}

function actorText({ kind, key_name: name, key_id: id, session_id: session, reference }: Json): string {
  if (kind === "portal_session") return `${cellText(reference ?? session)} (portal)`;
  const who = cellText(name ?? id);
  return kind === "dashboard_session" ? `${who} (dashboard)` : who;
}

function changesText(changes: Json): string {
  return Object.entries(changes)
    .map(([name, change]) => {
      const { from, to } = change as Json;
      return from === undefined ? `${name}: ${cellText(to)}` : `${name}: ${cellText(from)} → ${cellText(to)}`;
    })
    .join("; ");
}
