import type { Command } from "commander";
import { deliveryRetryFields } from "../../core/fields/actions.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList, printOne } from "../client-command.ts";
import { FieldOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { cellText, printFields, printTable, shortTime } from "../table.ts";
import type { Column } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { inactiveText } from "./bulk.ts";

export const deliveryColumns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "EVENT TYPE", value: (row) => row["event_type"] },
  { title: "STATUS", value: (row) => row["status"] },
  { title: "ATTEMPTS", value: (row) => row["attempt_count"] },
  { title: "WAITS FOR", value: waitText },
  { title: "WHY", value: (row) => row["reason"] ?? row["failure_category"] },
  { title: "CREATED (UTC)", value: (row) => shortTime(row["created_at"]) },
];

const attemptColumns: readonly Column<Json>[] = [
  { title: "#", value: (row) => row["attempt_number"] },
  { title: "SENT (UTC)", value: (row) => cellText(row["executed_at"]).slice(0, 23).replace("T", " ") },
  { title: "OUTCOME", value: (row) => row["outcome"] },
  { title: "HTTP", value: (row) => row["http_status_code"] },
  { title: "MS", value: (row) => Math.round(Number(row["duration_ms"])) },
  { title: "CATEGORY", value: (row) => row["failure_category"] },
  { title: "ERROR OR RESPONSE", value: (row) => row["error_message"] ?? row["response_body_sample"] },
];

function waitText(row: Json): string {
  const { waiting_for: what } = row;
  const until = row["waiting_until"] ?? row["next_attempt_at"];
  return typeof until === "string" && what !== null
    ? `${cellText(what)} until ${shortTime(until)}`
    : cellText(what);
}

/** A delivery and every attempt, for people. */
export function printDelivery(terminal: Terminal, delivery: Json): void {
  const { attempts, waits, ...fields } = delivery;
  printFields(terminal, fields);
  for (const wait of waits as readonly Json[])
    terminal.data(
      `waited for ${cellText(wait["reason"])} from ${shortTime(wait["from"])} until ${shortTime(wait["until"])}`,
    );
  terminal.data("");
  const rows = attempts as readonly Json[];
  if (rows.length === 0) terminal.data("no attempts yet");
  else printTable(terminal, { columns: attemptColumns, rows });
}

export function addDeliveryCommands(program: Command, invocation: Invocation): void {
  const deliveries = program.command("deliveries").description("what became of an event at one webhook");

  const list = addPageOptions(
    deliveries.command("list").description("list the deliveries of a webhook, newest first"),
  )
    .argument("<webhook-id>")
    .option("--status <status>", "pending, failed, success, exhausted, skipped, cancelled or circuit_blocked")
    .option("--from <time>", "made at or after this time, date, or span before now such as 1h")
    .option("--to <time>", "made before this time, date, or span before now such as 1h");
  clientCommand(list, invocation, (call) =>
    printList(call, {
      path: `/v1/webhooks/${encodeURIComponent(call.args[0] ?? "")}/deliveries`,
      query: {
        status: call.options.text("status"),
        from: call.options.time("from"),
        to: call.options.time("to"),
      },
      columns: deliveryColumns,
      none: "no deliveries",
    }),
  );

  const get = deliveries
    .command("get")
    .description("show a delivery with every attempt")
    .argument("<delivery-id>");
  clientCommand(get, invocation, async ({ client, terminal, args: [id = ""] }) => {
    const delivery = await client.get(`/v1/deliveries/${encodeURIComponent(id)}`);
    if (terminal.json) terminal.object(delivery);
    else printDelivery(terminal, delivery);
  });

  const retry = deliveries
    .command("retry")
    .description("try a delivery again now")
    .argument("<delivery-id>")
    .addOption(new FieldOption("--priority <priority>", deliveryRetryFields.priority, { says: "" }));
  clientCommand(retry, invocation, async ({ client, terminal, args: [id = ""], options }) => {
    const delivery = await client.get(`/v1/deliveries/${encodeURIComponent(id)}`);
    const path = `/v1/webhooks/${String(delivery["webhook_id"])}/deliveries/${encodeURIComponent(id)}/retry`;
    printOne(terminal, await client.post(path, { body: { priority: options.text("priority") } }));
    const { id: webhookId, status } = await client.get(`/v1/webhooks/${String(delivery["webhook_id"])}`);
    if (status !== "active") terminal.note(inactiveText({ id: webhookId, status }));
  });
}
