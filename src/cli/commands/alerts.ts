import type { Command } from "commander";
import {
  alertFilterOptions,
  alertFilters,
  alertMuteFields,
  alertRuleFields,
  alertRuleOptions,
} from "../../resources/alert.ts";
import type { Json } from "../api-client.ts";
import { type ClientCall, clientCommand, printList, printOne } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { addFieldOptions, bodyOf, FieldOption, PlainCommands, tenantOption } from "../plain-commands.ts";
import { cellText, columns, timeIn } from "../table.ts";

const alertColumns = {
  "SINCE (UTC)": timeIn("since"),
  STATE: "state",
  SEVERITY: "severity",
  RULE: "rule",
  TENANT: "tenant_id",
  SUMMARY: "summary",
  "MUTED UNTIL": timeIn("muted_until"),
  ID: "id",
};

const ruleColumns = columns<Json>({
  NAME: "name",
  SEVERITY: "severity",
  METRIC: "metric",
  WHEN: (row) => `${cellText(row["comparison"])} ${cellText(row["threshold"])}`,
  "FOR (S)": "for_seconds",
  ENABLED: "enabled",
  "MUTED UNTIL": timeIn("muted_until"),
});

export function addAlertsCommand(program: Command, invocation: Invocation): void {
  const alerts = program.command("alerts").description("show and mute alerts");
  const commands = new PlainCommands(alerts, invocation, { path: "/v1/alerts", filters: alertFilters });
  commands.list("list alerts, newest first", alertColumns, "no alerts", alertFilterOptions);
  const mute = alerts
    .command("mute")
    .description("mute an alert for a while, even if it resolves and fires again")
    .argument("<id>", "alert id")
    .requiredOption("--until <time>", "time, date, or duration from now such as 2h")
    .addOption(new FieldOption("--reason <text>", alertMuteFields.reason));
  clientCommand(mute, invocation, async ({ client, terminal, args: [id = ""], options }) => {
    const body = { until: options.time("until", "ahead"), reason: options.text("reason") };
    printOne(terminal, await client.post(`/v1/alerts/${encodeURIComponent(id)}/mute`, { body }));
  });
}

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
