import { isUtf8 } from "node:buffer";
import type { Command } from "commander";
import { deliveryRetryFields } from "../../resources/actions.ts";
import {
  deliveryFilterFields,
  deliveryFilterOptions,
  deliveryListFields,
  deliveryListOptions,
} from "../../resources/delivery.ts";
import { cancelDeliveriesFields, retryDeliveriesFields } from "../../resources/operation.ts";
import type { Json } from "../api-client.ts";
import {
  addPageOptions,
  type ClientCall,
  clientCommand,
  type OptionValues,
  printList,
  printOne,
} from "../client-command.ts";
import { UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import {
  addFieldOptions,
  addTimeRange,
  bodyOf,
  FieldOption,
  queryOf,
  timeRangeOf,
} from "../plain-commands.ts";
import { cellText, type Column, columns, printFields, printTable, shortTime, timeIn } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { addBulkOptions, addCircuitOption, inactiveText, runBulk } from "./bulk.ts";

export const deliveryColumns = columns<Json>({
  ID: "id",
  "EVENT TYPE": "event_type",
  STATUS: "status",
  ATTEMPTS: "attempt_count",
  HTTP: "last_http_status_code",
  MS: (row) => roundedMs(row["last_duration_ms"]),
  "WAITING FOR": waitText,
  REASON: (row) => row["reason"] ?? row["failure_category"],
  "CREATED (UTC)": timeIn("created_at"),
});

/** Columns for lists of deliveries to several webhooks. */
const columnsOverWebhooks: readonly Column<Json>[] = deliveryColumns.toSpliced(2, 0, {
  title: "WEBHOOK",
  value: (row) => (row["webhook"] as Json | null)?.["url"] ?? row["webhook_id"],
});

const attemptColumns = columns<Json>({
  "#": "attempt_number",
  "SENT (UTC)": (row) => cellText(row["executed_at"]).slice(0, 23).replace("T", " "),
  OUTCOME: "outcome",
  HTTP: "http_status_code",
  MS: (row) => roundedMs(row["duration_ms"]),
  CATEGORY: "failure_category",
  "ERROR OR RESPONSE": (row) => row["error_message"] ?? row["response_body_sample"],
});

function roundedMs(value: unknown): unknown {
  return typeof value === "number" ? Math.round(value) : null;
}

function waitText(row: Json): string {
  const { waiting_for: what } = row;
  const until = row["waiting_until"] ?? row["next_attempt_at"];
  return typeof until === "string" && what !== null
    ? `${cellText(what)} until ${shortTime(until)}`
    : cellText(what);
}

/** Prints a delivery with all attempts. */
export function printDelivery(terminal: Terminal, delivery: Json): void {
  const { attempts, waits, gates, ...fields } = delivery;
  printFields(terminal, fields);
  for (const gate of gates as readonly Json[]) printGate(terminal, gate);
  for (const wait of waits as readonly Json[])
    terminal.data(
      `waited for ${cellText(wait["reason"])} from ${shortTime(wait["from"])} until ${shortTime(wait["until"])}`,
    );
  terminal.data("");
  const rows = attempts as readonly Json[];
  if (rows.length === 0) terminal.data("no attempts yet");
  else printTable(terminal, attemptColumns, rows);
  for (const row of rows) printTrace(terminal, row);
}

/** Prints a closed gate and the API call that opens it. */
function printGate(terminal: Terminal, gate: Json): void {
  const remedy = gate["remedy"] as Json | null;
  const times = ["since", "until"].flatMap((name) =>
    typeof gate[name] === "string" ? [`${name} ${shortTime(gate[name])}`] : [],
  );
  terminal.data(`held by ${[cellText(gate["gate"]), ...times].join(", ")}: ${cellText(gate["cause"])}`);
  if (remedy === null) return;
  const body = remedy["body"] === null ? "" : ` ${cellText(remedy["body"])}`;
  terminal.data(
    `  ${cellText(remedy["text"])} ${cellText(remedy["method"])} ${cellText(remedy["path"])}${body}`,
  );
}

/** Prints address and timings of an attempt, if stored. */
function printTrace(terminal: Terminal, attempt: Json): void {
  const { timings_ms: timings, url, peer_address: peer, http_version: version } = attempt;
  if (url === null || url === undefined) return;
  const parts = Object.entries((timings ?? {}) as Json).filter(([, ms]) => ms !== null);
  terminal.data("");
  terminal.data(`attempt ${cellText(attempt["attempt_number"])} to ${cellText(url)}`);
  const way = [
    ...(typeof peer === "string" ? [peer] : []),
    ...(typeof version === "string" ? [`HTTP/${version}`] : []),
    ...parts.map(([name, ms]) => `${name} ${cellText(ms)} ms`),
    `configuration ${cellText(attempt["config_revision"])}`,
  ];
  terminal.data(`  ${way.join(" · ")}`);
  for (const { name, value } of (attempt["response_headers"] ?? []) as readonly Json[])
    terminal.data(`  ${cellText(name)}: ${cellText(value)}`);
  if (attempt["metadata_truncated"] === true) terminal.data("  (truncated to 1 KiB)");
}

export function addDeliveryCommands(program: Command, invocation: Invocation): void {
  const deliveries = program.command("deliveries").description("deliveries of events to webhooks");

  addListCommand(deliveries, invocation);

  const get = deliveries
    .command("get")
    .alias("show")
    .description("show a delivery with every attempt")
    .argument("<delivery-id>");
  clientCommand(get, invocation, async ({ client, terminal, args: [id = ""] }) => {
    const delivery = await client.get(`/v1/deliveries/${encodeURIComponent(id)}`);
    if (terminal.json || terminal.fields !== null) printOne(terminal, delivery);
    else printDelivery(terminal, delivery);
  });

  addRequestCommand(deliveries, invocation);
  addRetryCommand(deliveries, invocation);
  addCancelCommand(deliveries, invocation);
}

function addRetryCommand(deliveries: Command, invocation: Invocation): void {
  const retry = addCircuitOption(
    addBulkOptions(
      addSelection(deliveries.command("retry").description("retry deliveries now, by ids or list filters")),
      retryDeliveriesFields.requestsPerSecond,
    ),
  ).addOption(new FieldOption("--priority <priority>", deliveryRetryFields.priority, ""));
  clientCommand(retry, invocation, (call) => {
    const { args, options } = call;
    const filter = filterBody(options);
    if (args.length === 1 && filter === null && !options.flag("dryRun")) return retryOne(call, args[0] ?? "");
    const body = {
      ...selectionBody(args, filter, options.flag("all")),
      priority: options.text("priority"),
    };
    return runBulk(call, "/v1/deliveries/retry-batch", "deliveries", body);
  });
}

async function retryOne({ client, terminal, options }: ClientCall, id: string): Promise<void> {
  const delivery = await client.get(`/v1/deliveries/${encodeURIComponent(id)}`);
  const path = `/v1/webhooks/${String(delivery["webhook_id"])}/deliveries/${encodeURIComponent(id)}/retry`;
  const closes = options.flag("closeCircuits") && { close_circuit: true };
  const body = { priority: options.text("priority"), ...closes };
  const retried = await client.post(path, { body });
  printOne(terminal, retried);
  if (retried["waiting_for"] === "circuit_open")
    terminal.note("waiting behind an open circuit. To send immediately, repeat with --close-circuits");
  const { id: webhookId, status } = await client.get(`/v1/webhooks/${String(delivery["webhook_id"])}`);
  if (status !== "active") terminal.note(inactiveText(webhookId, status));
}

function addCancelCommand(deliveries: Command, invocation: Invocation): void {
  const cancel = addBulkOptions(
    addSelection(
      deliveries.command("cancel").description("cancel waiting deliveries, by ids or list filters"),
    ),
    cancelDeliveriesFields.requestsPerSecond,
  );
  clientCommand(cancel, invocation, (call) => {
    const { args, options } = call;
    const body = selectionBody(args, filterBody(options), options.flag("all"));
    return runBulk(call, "/v1/deliveries/cancel-batch", "deliveries", body, "cancelled");
  });
}

/** Adds the arguments and filters for selecting deliveries. */
function addSelection(command: Command): Command {
  const filtered = addDeliveryFilters(command.argument("[delivery-ids...]"));
  return addFieldOptions(filtered, deliveryListFields, deliveryListOptions).option(
    "--all",
    "select everything if no filter is given",
  );
}

/** The filters that were given; null without filters. */
function filterBody(options: OptionValues): Json | null {
  const { order: _, ...query } = deliveryFilterQuery(options) ?? {};
  const filter = { ...query, ...bodyOf(options, deliveryListFields, deliveryListOptions) };
  return Object.values(filter).some((value) => value !== undefined) ? filter : null;
}

/** The selection: ids or a filter. Selecting everything requires `isAll`. */
export function selectionBody(ids: readonly string[], filter: Json | null, isAll: boolean): Json {
  if (ids.length > 0) {
    if (filter !== null) throw new UsageError("pass ids or filters, not both");
    return { ids };
  }
  if (filter === null && !isAll)
    throw new UsageError("select deliveries by ids, by filters such as --status failed, or with --all");
  return { filter: filter ?? {} };
}

function addRequestCommand(deliveries: Command, invocation: Invocation): void {
  const request = deliveries
    .command("request")
    .description("show the request of an attempt, reconstructed from stored data")
    .argument("<delivery-id>")
    .argument("<number>");
  clientCommand(request, invocation, async ({ client, terminal, args: [id = "", number = ""] }) => {
    const [delivery, attempt] = [encodeURIComponent(id), encodeURIComponent(number)];
    const made = await client.get(`/v1/deliveries/${delivery}/attempts/${attempt}/request`);
    if (terminal.json) return terminal.object(made);
    terminal.data(`${cellText(made["method"])} ${cellText(made["url"])}`);
    for (const { name, value } of made["headers"] as readonly Json[])
      terminal.data(`${cellText(name)}: ${cellText(value)}`);
    terminal.data("");
    const body = Buffer.from(String(made["body_base64"]), "base64");
    terminal.data(
      isUtf8(body)
        ? body.toString().split("\n").map(cellText).join("\n")
        : `${body.length} bytes of binary data`,
    );
    for (const { parts, detail } of made["may_differ"] as readonly Json[])
      terminal.note(`may differ (${(parts as readonly string[]).join(", ")}): ${cellText(detail)}`);
    return undefined;
  });
}

/** Adds filters on fields of the delivery itself. */
export function addRowFilters(command: Command): Command {
  return addFieldOptions(command, deliveryFilterFields, deliveryFilterOptions);
}

/** Adds filters for lists within one webhook or event. */
export function addDeliveryFilters(command: Command): Command {
  return addTimeRange(addRowFilters(command), "created ").addOption(
    new FieldOption("--order <order>", deliveryFilterFields.order),
  );
}

export function deliveryFilterQuery(options: OptionValues) {
  return {
    ...queryOf(options, deliveryFilterFields, deliveryFilterOptions),
    ...timeRangeOf(options),
    order: options.text("order"),
  };
}

function addListCommand(deliveries: Command, invocation: Invocation): void {
  const list = addDeliveryFilters(
    deliveries
      .command("list")
      .description("list deliveries of all webhooks or of one, newest first")
      .argument("[webhook-id]"),
  );
  addPageOptions(addFieldOptions(list, deliveryListFields, deliveryListOptions));
  clientCommand(list, invocation, (call) => {
    const { options, args } = call;
    const [webhookId] = args;
    const query = deliveryFilterQuery(options);
    if (webhookId !== undefined)
      return printList(
        call,
        `/v1/webhooks/${encodeURIComponent(webhookId)}/deliveries`,
        deliveryColumns,
        "no deliveries",
        query,
      );
    return printList(call, "/v1/deliveries", columnsOverWebhooks, "no deliveries", {
      ...query,
      ...queryOf(options, deliveryListFields, deliveryListOptions),
      include: "webhook",
    });
  });
}
