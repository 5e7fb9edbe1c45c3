import type { Command } from "commander";
import {
  alertFilterOptions,
  alertFilters,
  alertMuteFields,
  alertRuleFields,
  alertRuleOptions,
} from "../../resources/alert.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, type ClientCall, clientCommand, printList, printOne } from "../client-command.ts";
import { FieldOption, tenantOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { addFieldOptions, bodyOf, queryOf } from "../plain-commands.ts";
import { cellText, type Column, shortTime } from "../table.ts";

const alertColumns: readonly Column<Json>[] = [
  { title: "SINCE (UTC)", value: (row) => shortTime(row["since"]) },
  { title: "STATE", value: (row) => row["state"] },
  { title: "SEVERITY", value: (row) => row["severity"] },
  { title: "RULE", value: (row) => row["rule"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "SUMMARY", value: (row) => row["summary"] },
  { title: "MUTED UNTIL", value: (row) => shortTime(row["muted_until"]) },
  { title: "ID", value: (row) => row["id"] },
];

const ruleColumns: readonly Column<Json>[] = [
  { title: "NAME", value: (row) => row["name"] },
  { title: "SEVERITY", value: (row) => row["severity"] },
  { title: "METRIC", value: (row) => row["metric"] ?? "-" },
  { title: "WHEN", value: (row) => `${cellText(row["comparison"])} ${cellText(row["threshold"])}` },
  { title: "FOR (S)", value: (row) => row["for_seconds"] },
  { title: "ENABLED", value: (row) => row["enabled"] },
  { title: "MUTED UNTIL", value: (row) => shortTime(row["muted_until"]) },
];

export function addAlertsCommand(program: Command, invocation: Invocation): void {
  const alerts = program.command("alerts").description("show and mute alerts");
  const list = addPageOptions(alerts.command("list").description("list alerts, newest first"));
  addFieldOptions(list, alertFilters, alertFilterOptions);
  clientCommand(list, invocation, (call) =>
    printList(
      call,
      "/v1/alerts",
      alertColumns,
      "no alerts",
      queryOf(call.options, alertFilters, alertFilterOptions),
    ),
  );
  const mute = alerts
    .command("mute")
    .description("mute an alert for a while, even if it resolves and fires again")
    .argument("<id>", "alert id")
    .requiredOption("--until <time>", "time, date, or duration from now such as 2h")
    .addOption(new FieldOption("--reason <text>", alertMuteFields.reason));
  clientCommand(mute, invocation, async (call) => {
    const [id = ""] = call.args;
    const body = { until: until(call), reason: call.options.text("reason") };
    printOne(call.terminal, await call.client.post(`/v1/alerts/${encodeURIComponent(id)}/mute`, { body }));
  });
}

/** Durations count from now, while in other commands they lie in the past. */
function until({ options }: ClientCall): string {
  const text = options.text("until") ?? "";
  const [, count, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (count === undefined) return text;
  return new Date(Date.now() + Number(count) * (unitsMs[unit] ?? 0)).toISOString();
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export function addAlertRulesCommand(program: Command, invocation: Invocation): void {
  const rules = program.command("alert-rules").description("manage alert rules");
  const list = rules.command("list").description("list built-in and custom rules").addOption(tenantOption());
  clientCommand(list, invocation, (call) =>
    printList(call, "/v1/alert-rules", ruleColumns, "no rules", { tenant_id: call.options.text("tenant") }),
  );
  for (const [name, says] of [
    ["put", "create or change a rule. Omitted options keep their values"],
    ["preview", "show how often a rule would have fired in the last seven days"],
  ] as const) {
    const command = withRuleOptions(rules.command(name).description(says));
    if (name === "put") command.argument("<name>", "rule name");
    clientCommand(command, invocation, name === "put" ? put : preview);
  }
  const remove = rules
    .command("delete")
    .description("delete a custom rule, or reset a built-in rule")
    .argument("<name>", "rule name")
    .addOption(tenantOption());
  clientCommand(remove, invocation, async (call) => {
    await call.client.call("DELETE", { path: pathOf(call), query: tenantOf(call) });
    call.terminal.note("done");
  });
}

function withRuleOptions(command: Command): Command {
  return addFieldOptions(command, alertRuleFields, alertRuleOptions).addOption(tenantOption());
}

async function put(call: ClientCall): Promise<void> {
  const body = ruleOf(call);
  printOne(call.terminal, await call.client.call("PUT", { path: pathOf(call), query: tenantOf(call), body }));
}

async function preview(call: ClientCall): Promise<void> {
  const found = await call.client.post("/v1/alert-rules/preview", {
    query: tenantOf(call),
    body: ruleOf(call),
  });
  if (call.terminal.json) return printOne(call.terminal, found);
  const { fired, firing_seconds: seconds, from } = found;
  printOne(call.terminal, { fired, firing_seconds: seconds, from, to: found["to"] });
}

function pathOf({ args }: ClientCall): string {
  return `/v1/alert-rules/${encodeURIComponent(args[0] ?? "")}`;
}

function tenantOf({ options }: ClientCall) {
  return { tenant_id: options.text("tenant") };
}

function ruleOf({ options }: ClientCall): Json {
  return bodyOf(options, alertRuleFields, alertRuleOptions);
}
