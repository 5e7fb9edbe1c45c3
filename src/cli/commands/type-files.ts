import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { eventTypesText } from "../../core/type-text/event-types-text.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Json } from "../api-client.ts";
import { clientCommand } from "../client-command.ts";
import type { ClientCall } from "../client-command.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import { tenantOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";

/** What is written, by the name of the format. */
const formats: Readonly<Record<string, (call: ClientCall) => Promise<string>>> = {
  typescript: typeScript,
  openapi: (call) => document(call, "openapi.json"),
  asyncapi: (call) => document(call, "asyncapi.json"),
};
const formatNames = Object.keys(formats).join(", ");

export function addTypesCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("types")
    .description("write the registered event types as TypeScript, OpenAPI webhooks or AsyncAPI")
    .option("--format <format>", formatNames, "typescript")
    .option("--out <file>", "write into this file instead of standard output")
    .option("--check", "write nothing; fail when --out is not what would be written")
    .option("--message-profile <name>", "whose messages openapi and asyncapi describe; default standard")
    .addOption(tenantOption());
  clientCommand(command, invocation, async (call) => {
    const { options, terminal } = call;
    const format = options.text("format") ?? "";
    const write = formats[format];
    if (write === undefined) throw new UsageError(`--format takes one of ${formatNames}, not "${format}"`);
    const path = options.text("out");
    if (options.flag("check") && path === undefined) throw new UsageError("--check needs --out");
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
    ["Written by `posthorn types` from the registered event types. Run it again instead of changing this."],
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
  throw new CommandFailure(
    present === null ? `${path} is not there` : `${path} is not what the server has now`,
    ["Write it with the same command without --check."],
  );
}

function writeFile({ path, text }: WrittenFile): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new CommandFailure(`cannot write ${path}: ${messageOf(error)}`);
  }
}
