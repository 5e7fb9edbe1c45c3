import type { Command } from "commander";
import { filterEvaluationFields } from "../../core/fields/filter-evaluation.ts";
import type { Json } from "../api-client.ts";
import { clientCommand, parseJson } from "../client-command.ts";
import { FieldOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { cellText, printTable, shortTime } from "../table.ts";
import type { Column } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const { requestId, sourceId, last } = filterEvaluationFields;

/** Adds the command that tries a filter before it is saved. */
export function addTryFilter(connections: Command, invocation: Invocation): void {
  const command = connections
    .command("try-filter")
    .description("show which received messages a filter would forward, and why not the others")
    .argument("<filter>", 'filter of a connection, for example {"body":{"action":"opened"}}')
    .addOption(new FieldOption("--source <id>", sourceId))
    .addOption(new FieldOption("--last <count>", last, "with --source, number of requests"))
    .addOption(new FieldOption("--request <id>", requestId))
    .option("--message <json>", 'message to test, for example {"body":{"action":"closed"}}');
  clientCommand(command, invocation, async ({ client, terminal, args: [filter = ""], options }) => {
    const body = {
      filter: parseJson(filter, "the filter"),
      request_id: options.text("request"),
      source_id: options.text("source"),
      ...(options.given("source") && { last: options.number("last") }),
      message: options.json("message"),
    };
    const found = await client.post("/v1/filters/evaluate", { body });
    if (terminal.json) terminal.object(found);
    else if (found["trace"] === undefined) printRequests(terminal, found);
    else printMessage(terminal, found);
  });
}

const traceColumns: readonly Column<Json>[] = [
  { title: "CONDITION", value: (row) => row["path"] },
  { title: "MATCHES", value: ({ result, unknown }) => holdsText(result, unknown) },
  { title: "EXPECTED", value: (row) => row["expected"] },
  { title: "ACTUAL", value: (row) => row["actual"] },
];

function holdsText(result: unknown, unknown: unknown): string {
  if (typeof result === "boolean") return result ? "yes" : "no";
  return unknown === null ? "unknown" : cellText(unknown).replaceAll("_", " ");
}

function printMessage(terminal: Terminal, { matches, rule, trace }: Json): void {
  if (matches === true) terminal.data("the message would be forwarded");
  else if (matches === false) terminal.data(`the message would be filtered out by ${cellText(rule)}`);
  else terminal.data("the result is unknown, because it depends on data that the log does not store");
  const rows = trace as readonly Json[];
  if (rows.length > 0) printTable(terminal, traceColumns, rows);
}

/** A request, and whether it would be forwarded. */
interface Sample {
  readonly row: Json;
  readonly sentOn: string;
}

const sampleColumns: readonly Column<Sample>[] = [
  { title: "REQUEST", value: ({ row }) => row["request_id"] },
  { title: "RECEIVED (UTC)", value: ({ row }) => shortTime(row["received_at"]) },
  { title: "FORWARDED", value: ({ sentOn }) => sentOn },
  { title: "TYPE", value: ({ row }) => row["original_type"] ?? row["event_type"] },
  { title: "FILTERED OUT BY", value: ({ row }) => row["rule"] },
];

const kinds = [
  ["matched", "yes"],
  ["not_matched", "no"],
  ["not_examined", "unknown"],
] as const;

function printRequests(terminal: Terminal, found: Json): void {
  const count = (name: string) => Number(found[name]);
  const looked = count("examined") + count("not_examined") + count("not_routed");
  terminal.data(
    [
      `${count("matched")} of the last ${looked} would be forwarded, ${count("not_matched")} filtered out`,
      ...(count("not_examined") > 0 ? [`${count("not_examined")} unknown`] : []),
      ...(count("not_routed") > 0 ? [`${count("not_routed")} rejected, duplicate or address check`] : []),
    ].join("; "),
  );
  const samples = found["samples"] as Readonly<Record<string, readonly Json[]>>;
  const rows = kinds.flatMap(([kind, sentOn]) =>
    (samples[kind] ?? []).map((row): Sample => ({ row, sentOn })),
  );
  if (rows.length > 0) printTable(terminal, sampleColumns, rows);
  if (found["complete"] === false)
    terminal.note(
      `the search reached its time limit and covers requests since ${cellText(found["searched_to"])}`,
    );
}
