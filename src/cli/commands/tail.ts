import type { Command } from "commander";
import { deliveryListFields } from "../../resources/delivery.ts";
import type { Json } from "../api-client.ts";
import { type ClientCall, clientCommand, type OptionValues } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { FieldOption, tenantOption } from "../plain-commands.ts";
import { cellText } from "../table.ts";
import { type Terminal, untilStopped } from "../terminal.ts";
import { relativeTime } from "../times.ts";
import { addRowFilters } from "./deliveries.ts";

/** Applies the list filters to streamed rows. */
function deliveryFilter(options: OptionValues): (row: Json) => boolean {
  const isOneOf = (option: string, field: string) => {
    const wanted = options.list(option);
    return (row: Json) => wanted === undefined || wanted.includes(String(row[field]));
  };
  const types = options.list("type");
  const statuses = options.list("httpStatus");
  const attemptMin = options.number("attemptsMin") ?? 0;
  const errorText = options.text("error")?.toLowerCase();
  const tests: readonly ((row: Json) => boolean)[] = [
    (row) => types === undefined || types.some((wanted) => matchesType(wanted, String(row["event_type"]))),
    isOneOf("status", "status"),
    isOneOf("category", "failure_category"),
    isOneOf("waitingFor", "waiting_for"),
    isOneOf("origin", "origin"),
    isOneOf("webhook", "webhook_id"),
    isOneOf("tenant", "tenant_id"),
    (row) =>
      statuses === undefined || statuses.some((one) => matchesStatus(one, row["last_http_status_code"])),
    (row) => Number(row["attempt_count"] ?? 0) >= attemptMin,
    (row) => errorText === undefined || JSON.stringify(row).toLowerCase().includes(errorText),
  ];
  return (row) => tests.every((test) => test(row));
}

/** `order.*` matches all types below `order`, `*` matches all types. */
function matchesType(wanted: string, type: string): boolean {
  if (wanted === "*") return true;
  return wanted.endsWith(".*") ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
}

/** `422`, `5xx`, or `none` for no response. */
function matchesStatus(wanted: string, status: unknown): boolean {
  if (wanted === "none") return typeof status !== "number";
  return wanted.endsWith("xx") ? String(status).startsWith(wanted.charAt(0)) : String(status) === wanted;
}

export function addTailCommand(program: Command, invocation: Invocation): void {
  const command = addRowFilters(
    program.command("tail").description("print deliveries as they change, until stopped"),
  )
    .addOption(
      new FieldOption("--webhook <id>", deliveryListFields.webhookIds, "only this webhook, repeatable"),
    )
    .addOption(tenantOption())
    .addHelpText(
      "after",
      "\nThe server reports up to 50 deliveries per second. A line shows how many were omitted.",
    );
  clientCommand(command, invocation, tail);
}

async function tail(call: ClientCall): Promise<void> {
  const { client, terminal, options, invocation } = call;
  const isWanted = deliveryFilter(options);
  const webhooks = options.list("webhook");
  const stop = new AbortController();
  void untilStopped(invocation).then(() => stop.abort());
  const stream = await client.stream({
    topics: webhooks?.map((id) => `deliveries:webhook=${id}`) ?? ["deliveries"],
    query: { include: ["webhook"] },
    signal: stop.signal,
    onReconnect: () => terminal.note("connection lost, reconnecting"),
  });
  terminal.note("waiting for deliveries. Stop with Ctrl C");
  for await (const { name, data } of stream) {
    if (name === "reset") terminal.note("some changes were missed");
    if (name !== "deliveries") continue;
    for (const row of (data["rows"] as readonly Json[]).filter(isWanted)) printRow(terminal, row);
    const leftOut = Number(data["left_out"]);
    if (leftOut > 0) terminal.note(`${leftOut} more changes are not shown`);
  }
}

const styles: Readonly<Record<string, "green" | "red" | "yellow">> = {
  success: "green",
  exhausted: "red",
  failed: "yellow",
  circuit_blocked: "yellow",
};

function printRow(terminal: Terminal, row: Json): void {
  if (terminal.json) return terminal.object(row);
  const status = cellText(row["status"]);
  const style = styles[status];
  const code = row["last_http_status_code"] ?? row["failure_category"];
  const webhook = row["webhook"] as Json | null | undefined;
  const waits = row["waiting_until"] ?? row["next_attempt_at"];
  const cells = [
    new Date().toISOString().slice(11, 23),
    style === undefined ? status : terminal.outStyle(style, status),
    ...(code === null || code === undefined ? [] : [cellText(code)]),
    cellText(row["event_type"]),
    cellText(webhook?.["url"] ?? row["webhook_id"]),
    cellText(row["id"]),
    `attempt ${cellText(row["attempt_count"])}`,
    ...(row["waiting_for"] === null || row["waiting_for"] === undefined
      ? []
      : [`waiting for ${cellText(row["waiting_for"])} ${relativeTime(waits, Date.now())}`.trimEnd()]),
  ];
  return terminal.data(cells.join("  "));
}
