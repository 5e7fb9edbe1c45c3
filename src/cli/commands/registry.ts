import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { messageOf } from "../../domain/thrown.ts";
import { eventTypesText } from "../../domain/type-text.ts";
import { apiKeyColumns, apiKeyFields, apiKeyOptions, apiKeyResource } from "../../resources/api-key.ts";
import { eventTypeColumns, eventTypeOptions, eventTypeResource } from "../../resources/event-type.ts";
import { tenantColumns, tenantOptions, tenantResource } from "../../resources/tenant.ts";
import type { Json } from "../api-client.ts";
import {
  type ClientCall,
  clientCommand,
  collect,
  type OptionValues,
  parseJson,
  printOne,
} from "../client-command.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import { type Invocation, readInput } from "../invocation.ts";
import {
  addFieldOptions,
  bodyOf,
  PlainCommands,
  tenantFilterOption,
  tenantOption,
} from "../plain-commands.ts";

export function addRegistryCommands(program: Command, invocation: Invocation): void {
  const eventTypes = program.command("event-types").description("catalogue of event types");
  addEventTypeCommands(eventTypes, invocation);
  addDocumentCommands(eventTypes, invocation);
  const tenants = program.command("tenants").description("tenants and their limits");
  const commands = new PlainCommands(tenants, invocation, tenantResource);
  commands.list("list tenants", tenantColumns, "no tenants");
  commands.get("show a tenant", "<tenant-id>");
  commands.change("PUT", "create or change a tenant", "<tenant-id>", tenantOptions);
  addKeyCommands(program.command("keys").description("API keys"), invocation);
}

function addEventTypeCommands(eventTypes: Command, invocation: Invocation): void {
  const commands = new PlainCommands(eventTypes, invocation, eventTypeResource);
  const none = "no event types are registered. Events of any type are accepted";
  commands.list("list event types", eventTypeColumns, none, tenantFilterOption);
  commands.get("show an event type with its schema", "<name>");
  commands.change("PUT", "register or change an event type", "<name>", eventTypeOptions, {
    add: addEventTypeOptions,
    given: (options) => eventTypeBody(options, invocation),
  });
  commands.delete("delete an event type", "<name>");
}

function addEventTypeOptions(command: Command): void {
  command
    .option(
      "--schema <json>",
      "JSON Schema 2020-12 of the data, - for standard input, or null to accept any object",
    )
    .option(
      "--example <json>",
      "example data, repeatable. Replaces all existing examples. Use none to remove them",
      collect,
    )
    .option("--deprecated", "mark the event type as deprecated")
    .option("--no-deprecated", "undo the deprecation");
}

async function eventTypeBody(options: OptionValues, { stdin }: Invocation): Promise<Json> {
  const schema = options.text("schema");
  return {
    schema: schema === "-" ? parseJson(await readInput(stdin), "standard input") : options.json("schema"),
    examples: examplesOf(options),
    deprecated: options.given("deprecated") ? options.flag("deprecated") : undefined,
  };
}

/** Does not split at commas, because JSON contains them. */
function examplesOf(options: OptionValues): readonly unknown[] | undefined {
  const given = options.texts("example");
  if (given?.length === 1 && given[0] === "none") return [];
  return given?.map((text) => parseJson(text, "--example"));
}

const documents = [
  ["openapi", "print an OpenAPI 3.1 document of the webhooks, for receivers"],
  ["asyncapi", "print an AsyncAPI 3.0 document of the webhooks, for receivers"],
] as const;

function addDocumentCommands(eventTypes: Command, invocation: Invocation): void {
  for (const [name, description] of documents) {
    const command = eventTypes
      .command(name)
      .description(description)
      .option("--profile <name>", "delivery profile (default: standard)")
      .addOption(tenantOption());
    clientCommand(command, invocation, async ({ client, terminal, options }) => {
      const query = { profile: options.text("profile"), tenant_id: options.text("tenant") };
      const document = await client.get(`/v1/webhook-docs/${name}.json`, { query });
      if (terminal.json) terminal.object(document);
      else terminal.data(JSON.stringify(document, null, 2));
    });
  }
}

function addKeyCommands(keys: Command, invocation: Invocation): void {
  const create = keys
    .command("create")
    .description("create an API key. It is shown only once")
    .argument("<name>", "name of the key");
  addFieldOptions(create, apiKeyFields, apiKeyOptions).option(
    "--expires <time>",
    "expiry: a time, or a duration from now such as 90d",
  );
  clientCommand(create, invocation, async ({ client, terminal, args: [name], options }) => {
    const given = bodyOf(options, apiKeyFields, apiKeyOptions);
    const body = {
      ...given,
      name,
      // Single-tenant users never need to pass a tenant.
      tenant_id: given["tenant_id"] ?? (given["role"] === "admin" ? undefined : "default"),
      expires_at: options.time("expires", "ahead"),
    };
    printOne(terminal, await client.post("/v1/api-keys", { body }));
    terminal.note("the key is shown only once. Only its hash is stored");
  });

  const commands = new PlainCommands(keys, invocation, apiKeyResource);
  const none = "no API keys other than the admin key of the server";
  commands.list("list API keys, without the keys themselves", apiKeyColumns, none);
  commands.delete("revoke an API key immediately", "<key-id>", "revoke");
}

/** Generators by format name. */
const formats: Readonly<Record<string, (call: ClientCall) => Promise<string>>> = {
  typescript: typeScript,
  openapi: (call) => document(call, "openapi.json"),
  asyncapi: (call) => document(call, "asyncapi.json"),
};
const formatNames = Object.keys(formats).join(", ");

export function addTypesCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("types")
    .description("generate TypeScript, OpenAPI webhooks or AsyncAPI from the registered event types")
    .option("--format <format>", formatNames, "typescript")
    .option("--out <file>", "write to this file instead of standard output")
    .option("--check", "write nothing, and fail if --out is not up to date")
    .option("--message-profile <name>", "profile of the messages in openapi and asyncapi (default: standard)")
    .addOption(tenantOption());
  clientCommand(command, invocation, async (call) => {
    const { options, terminal } = call;
    const format = options.text("format") ?? "";
    const write = formats[format];
    if (write === undefined) throw new UsageError(`--format takes one of ${formatNames}, not "${format}"`);
    const path = options.text("out");
    if (options.flag("check") && path === undefined) throw new UsageError("--check requires --out");
    const text = await write(call);
    if (path === undefined) terminal.data(text.trimEnd());
    else if (options.flag("check")) await requireSame({ path, text });
    else {
      writeFile({ path, text });
      terminal.note(`wrote ${path}`);
    }
  });
}

async function typeScript({ client, options }: ClientCall): Promise<string> {
  const rows: Json[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { tenant_id: options.text("tenant"), limit: 250, cursor };
    const page = await client.get("/v1/event-types", { query });
    rows.push(...(page["data"] as readonly Json[]));
    if (typeof page["next_cursor"] !== "string") break;
    cursor = page["next_cursor"];
  }
  const eventTypes = rows.map(({ name, description, deprecated, schema }) => ({
    name: String(name),
    description: typeof description === "string" ? description : "",
    deprecated: deprecated === true,
    schema: schema ?? null,
  }));
  return eventTypesText(
    eventTypes.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ["Generated by `posthorn types` from the registered event types. Do not edit; run the command again."],
  );
}

async function document({ client, options }: ClientCall, name: string): Promise<string> {
  const query = { tenant_id: options.text("tenant"), profile: options.text("messageProfile") };
  return `${JSON.stringify(await client.get(`/v1/webhook-docs/${name}`, { query }), null, 2)}\n`;
}

interface WrittenFile {
  readonly path: string;
  readonly text: string;
}

async function requireSame({ path, text }: WrittenFile): Promise<void> {
  const present = await readFile(path, "utf8").catch(() => null);
  if (present === text) return;
  throw new CommandFailure(present === null ? `${path} does not exist` : `${path} is not up to date`, [
    "To update it, run the same command without --check.",
  ]);
}

function writeFile({ path, text }: WrittenFile): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new CommandFailure(`cannot write ${path}: ${messageOf(error)}`);
  }
}
