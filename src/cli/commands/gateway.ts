import type { Command } from "commander";
import {
  connectionColumns,
  connectionFields,
  connectionOptions,
  connectionResource,
  filterEvaluationFields,
} from "../../resources/connection.ts";
import { requestFilterOptions, requestFilters } from "../../resources/gateway-request.ts";
import {
  sourceColumns,
  sourceFields,
  sourceOptions,
  sourceResource,
  sourceRotateFields,
} from "../../resources/source.ts";
import type { Json } from "../api-client.ts";
import { clientCommand, documentOf, parseJson, printOne } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import {
  acts,
  addFieldOptions,
  bodyOf,
  FieldOption,
  PlainCommands,
  tenantFilterOption,
} from "../plain-commands.ts";
import { cellText, columns, printTable, shortTime, timeIn } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const { requestId, sourceId, last } = filterEvaluationFields;

/** Adds the command that tests a filter before it is saved. */
function addTryFilter(connections: Command, invocation: Invocation): void {
  const command = connections
    .command("try-filter")
    .description(
      "show which received messages a filter would forward, and why it would not forward the others",
    )
    .argument("<filter>", 'filter of a connection, for example {"body":{"action":"opened"}}')
    .addOption(new FieldOption("--source <id>", sourceId))
    .addOption(new FieldOption("--last <count>", last, "number of requests to evaluate, with --source"))
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

const traceColumns = columns<Json>({
  CONDITION: "path",
  MATCHES: ({ result, unknown }) => holdsText(result, unknown),
  EXPECTED: "expected",
  ACTUAL: "actual",
});

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

const sampleColumns = columns<Sample>({
  REQUEST: ({ row }) => row["request_id"],
  "RECEIVED (UTC)": ({ row }) => shortTime(row["received_at"]),
  FORWARDED: "sentOn",
  TYPE: ({ row }) => row["original_type"] ?? row["event_type"],
  "FILTERED OUT BY": ({ row }) => row["rule"],
});

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
      ...(count("not_routed") > 0 ? [`${count("not_routed")} rejected, duplicates or address checks`] : []),
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

const requestColumns = {
  ID: "id",
  "RECEIVED (UTC)": timeIn("received_at"),
  STATUS: "status",
  OUTCOME: "outcome",
  CAUSE: "rejection_cause",
  MORE: "more_count",
  TYPE: "event_type",
  BYTES: "body_bytes",
};

/** Adds the commands for sources, connections and requests. */
export function addGatewayCommands(program: Command, invocation: Invocation): void {
  addSources(
    program.command("sources").description("addresses that receive webhooks from other systems"),
    invocation,
  );
  addConnections(
    program.command("connections").description("connections between sources and webhooks"),
    invocation,
  );
  addRequests(program.command("requests").description("requests received by sources"), invocation);
}

function addSources(sources: Command, invocation: Invocation): void {
  const create = sources
    .command("create")
    .description("create a source and print its address")
    .argument("<name>")
    .requiredOption(
      "--verification <json>",
      'for example {"type":"github","secrets":["…"]}, see GET /v1/source-types',
    );
  addFieldOptions(create, sourceFields, sourceOptions);
  clientCommand(create, invocation, async ({ client, terminal, args: [name = ""], options }) => {
    const verification = documentOf(options.text("verification"), "--verification");
    const body = { name, verification, ...bodyOf(options, sourceFields, sourceOptions) };
    const made = await client.post("/v1/sources", { body });
    if (terminal.json) return terminal.object(made);
    terminal.data(String(made["url"]));
    terminal.note(
      `created source ${String(made["source_id"])}. Connect it with: posthorn connections create`,
    );
  });
  const commands = new PlainCommands(sources, invocation, sourceResource);
  const none = "no sources. Create one with: posthorn sources create";
  commands.list("list sources, newest first", sourceColumns, none, tenantFilterOption);
  commands.get("print a source", "<id>");
  commands.one("address", "print the secret address", "<source-id>", async ({ client, terminal }, path) => {
    printAddress(terminal, await client.get(`${path}/address`));
  });
  commands.one(
    "rotate",
    "rotate the address of a source and print it",
    "<source-id>",
    async ({ client, terminal, options }, path) => {
      const body = { overlap_seconds: options.number("overlap") };
      printAddress(terminal, await client.post(`${path}/address/rotate`, { body }));
    },
    (command) => command.addOption(new FieldOption("--overlap <seconds>", sourceRotateFields.overlapSeconds)),
  );
  commands.one(
    "acknowledge",
    "acknowledge the service description for the senders, and switch to store and forward",
    "<source-id>",
    async ({ client, terminal }, path) => {
      const { version } = await client.get("/service-description");
      await client.post(`${path}/acknowledge`, { body: { version } });
      const body = { mode: "store_and_forward" };
      printOne(terminal, await client.call("PATCH", { path, body }));
    },
  );
  commands.one("update", "change a source", "<id>", patchJson, addJsonArgument);
  commands.delete("delete", "<id>");
}

function printAddress(terminal: Terminal, address: Json): void {
  if (terminal.json) terminal.object(address);
  else terminal.data(String(address["url"]));
}

/** Adds a JSON argument, for resources with fields that have no option. */
function addJsonArgument(command: Command): void {
  command.argument("<json>", 'fields to change, for example {"active":false}');
}

const patchJson = acts("PATCH", "", ({ args }) => documentOf(args[1], "the second argument"));

function addConnections(connections: Command, invocation: Invocation): void {
  const create = connections
    .command("create")
    .description("forward messages of a source to a webhook")
    .argument("<source-id>")
    .argument("<webhook-id>");
  addFieldOptions(create, connectionFields, connectionOptions);
  clientCommand(create, invocation, async ({ client, terminal, args, options }) => {
    const [sourceId = "", webhookId = ""] = args;
    const ends = { source_id: sourceId, webhook_id: webhookId };
    const body = { ...ends, ...bodyOf(options, connectionFields, connectionOptions) };
    printOne(terminal, await client.post("/v1/connections", { body }));
  });
  const commands = new PlainCommands(connections, invocation, connectionResource);
  const none = "no connections. Create one with: posthorn connections create";
  commands.list("list connections, newest first", connectionColumns, none);
  commands.get("print a connection", "<id>");
  commands.one("update", "change a connection", "<id>", patchJson, addJsonArgument);
  for (const [name, says, paused] of [
    ["pause", "pause a connection and hold its messages", true],
    ["resume", "resume a connection and send held messages in order", false],
  ] as const)
    commands.one(
      name,
      says,
      "<connection-id>",
      acts("PATCH", "", () => ({ paused })),
    );
  addTryFilter(connections, invocation);
  commands.delete("delete", "<id>");
}

function addRequests(requests: Command, invocation: Invocation): void {
  const resource = { path: "/v1/requests", filters: requestFilters };
  const commands = new PlainCommands(requests, invocation, resource);
  commands.list("list received requests, newest first", requestColumns, "no requests", requestFilterOptions);
  commands.get("print a request with its body", "<id>");
  commands.one(
    "replay",
    "replay a request through its connections",
    "<request-id>",
    acts("POST", "/replay", () => ({})),
  );
  commands.one(
    "bookmark",
    "bookmark a request, or remove the bookmark if no name is given",
    "<request-id>",
    acts("PUT", "/bookmark", ({ args }) => ({ name: args[1] ?? null })),
    (command) => command.argument("[name]"),
  );
}
