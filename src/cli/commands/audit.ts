import type { Command } from "commander";
import { auditFilters } from "../../resources/audit.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList } from "../client-command.ts";
import { FieldOption, tenantOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { cellText, type Column, shortTime } from "../table.ts";

const columns: readonly Column<Json>[] = [
  { title: "WHEN (UTC)", value: (row) => shortTime(row["at"]) },
  { title: "WHO", value: (row) => actorText(row["actor"] as Json) },
  { title: "FROM", value: (row) => row["address"] },
  { title: "ACTION", value: (row) => row["action"] },
  { title: "TARGET", value: (row) => (row["target"] as Json)["id"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "CHANGES", value: (row) => changesText(row["changes"] as Json) },
];

export function addAuditCommand(program: Command, invocation: Invocation): void {
  const audit = addPageOptions(
    program.command("audit").description("list changes and who made them, newest first"),
  )
    .addOption(new FieldOption("--actor <id-or-name>", auditFilters.actor))
    .addOption(new FieldOption("--action <action>", auditFilters.action))
    .addOption(new FieldOption("--target <id>", auditFilters.target))
    .option("--from <time>", "at or after this time, date, or duration before now such as 1h")
    .option("--since <time>", "alias of --from")
    .option("--to <time>", "before this time, date, or duration before now such as 1h")
    .addOption(tenantOption());
  clientCommand(audit, invocation, (call) => {
    const { options } = call;
    return printList(call, "/v1/audit-log", columns, "no changes", {
      actor: options.text("actor"),
      action: options.text("action"),
      target: options.text("target"),
      from: options.time("from") ?? options.time("since"),
      to: options.time("to"),
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
