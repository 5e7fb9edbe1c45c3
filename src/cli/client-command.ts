import { parseLossless } from "../core/json/lossless.ts";
import type { Command } from "commander";
import { defaultOf } from "../core/fields/field.ts";
import { pageLimitField } from "../core/fields/page.ts";
import { messageOf } from "../core/thrown.ts";
import { ApiClient } from "./api-client.ts";
import type { CallOptions, Json } from "./api-client.ts";
import { findServer, type GivenServer } from "./connection.ts";
import { RefusedError, UsageError } from "./failures.ts";
import type { Invocation } from "./invocation.ts";
import { cellText, printFields, printTable } from "./table.ts";
import type { Column } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { timeOf } from "./times.ts";
import { watch } from "./watch.ts";

/** What a client command works with. */
export interface ClientCall {
  readonly client: ApiClient;
  readonly terminal: Terminal;
  readonly args: readonly string[];
  readonly options: OptionValues;
  readonly invocation: Invocation;
}

/** Options as commander read them; accessors instead of casts. */
export class OptionValues {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** With or without a value. */
  given(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** Of an option that takes `true` or `false`, which was judged when it was read. */
  boolean(name: string): boolean | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : text === "true";
  }

  /** Repeated; a comma means itself. */
  texts(name: string): readonly string[] | undefined {
    const value = this.#values[name];
    return Array.isArray(value) ? (value as string[]) : undefined;
  }

  /** Repeated, or separated by commas. */
  list(name: string): readonly string[] | undefined {
    return this.texts(name)
      ?.flatMap((entry) => entry.split(","))
      .filter((entry) => entry !== "");
  }

  number(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (text.trim() === "" || !Number.isFinite(number))
      throw new UsageError(`--${dashed(name)} takes a number, not "${text}"`);
    return number;
  }

  /** A time, or a span before now such as `1h`; with `ahead` after now. */
  time(name: string, direction: "ago" | "ahead" = "ago"): string | undefined {
    const text = this.text(name);
    return text === undefined
      ? undefined
      : timeOf(text, { flag: `--${dashed(name)}`, now: Date.now(), direction });
  }

  /** `{"a": 1}` given as text. */
  json(name: string): unknown {
    const text = this.text(name);
    return text === undefined ? undefined : parseJson(text, { what: `--${dashed(name)}` });
  }
}

const profileHelp = "server and key of posthorn login, default POSTHORN_PROFILE";

/** Adds what all client commands share, and runs the command against the server they name. */
export function clientCommand(
  command: Command,
  invocation: Invocation,
  run: (call: ClientCall) => Promise<void>,
): void {
  if (showing.has(command.name())) addShowOptions(command);
  command
    .option("--url <url>", "server, default POSTHORN_URL or http://127.0.0.1:8080")
    .option("--key <key>", "API key, default POSTHORN_KEY; for a server on this machine data/admin.key")
    .option("--json", "print JSON, one object a line");
  // Where the name means something else, it stands before the command: posthorn --profile NAME listen …
  if (!command.options.some(({ long }) => long === "--profile"))
    command.option("--profile <name>", profileHelp);
  command.action(async () => {
    const options = new OptionValues(command.opts());
    const terminal = invocation.terminal({
      json: options.flag("json"),
      fields: options.list("fields") ?? null,
    });
    const server = findServer(givenServer(command, options), invocation.env);
    if (server.keyFile !== null)
      terminal.note(terminal.errStyle("dim", `using the admin key of ${server.keyFile}`));
    const client = new ApiClient(server);
    try {
      const call = { client, terminal, args: command.args, options, invocation };
      await (repeats(command) && options.given("watch") ? watch(call, run) : run(call));
    } catch (error) {
      throw await withOtherKind(error, { client, args: command.args });
    }
  });
}

/** From the command, or from before it. */
export function givenServer(command: Command, options: OptionValues): GivenServer {
  const { profile: outer } = rootOf(command).opts<{ readonly profile?: string }>();
  const own = command.options.some(
    ({ long, description }) => long === "--profile" && description === profileHelp,
  );
  return {
    url: options.text("url"),
    key: options.text("key"),
    profile: (own ? options.text("profile") : undefined) ?? outer,
  };
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

/** Where a command says `--watch [seconds]`; what acts has a `--watch` of its own, and must not be run again. */
function repeats(command: Command): boolean {
  return command.options.some(({ long, optional }) => long === "--watch" && optional);
}

/** Ids of events, deliveries and webhooks look alike: where one is not found, whether it is one of the others. */
async function withOtherKind(
  failure: unknown,
  { client, args }: { readonly client: ApiClient; readonly args: readonly string[] },
): Promise<unknown> {
  const id = args.find((arg) => uuidForm.test(arg));
  if (!(failure instanceof RefusedError) || failure.code !== "not_found" || id === undefined) return failure;
  for (const { kind, plural, commands } of kinds) {
    if (!(await exists(client, `/v1/${plural}/${id}`))) continue;
    const hint = `This is the id of ${kind}: ${commands.map((one) => `posthorn ${one} ${id}`).join(", or ")}`;
    return new RefusedError(failure.message, { code: failure.code, hints: [...failure.hints, hint] });
  }
  return failure;
}

async function exists(client: ApiClient, path: string): Promise<boolean> {
  try {
    await client.get(path);
    return true;
  } catch {
    return false;
  }
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const kinds = [
  { kind: "an event", plural: "events", commands: ["events get", "events deliveries"] },
  { kind: "a delivery", plural: "deliveries", commands: ["deliveries get"] },
  { kind: "a webhook", plural: "webhooks", commands: ["webhooks get", "deliveries list"] },
] as const;

/** Options of a listing. */
export function addPageOptions(command: Command): Command {
  return command
    .option("--limit <count>", "rows, at most 250", "50")
    .option("--cursor <cursor>", "continue a listing")
    .option("--all", "every row, page after page")
    .option("--fields <names>", "print these fields of a row, such as id,status", collect)
    .option(
      "--watch [seconds]",
      "print it again and again, every 2 seconds unless given, until it is stopped",
    );
}

/** Commands that show one thing. */
const showing: ReadonlySet<string> = new Set(["get", "health", "backlog", "system"]);

function addShowOptions(command: Command): void {
  command
    .option("--fields <names>", "print these fields, such as id,status", collect)
    .option(
      "--watch [seconds]",
      "print it again and again, every 2 seconds unless given, until it is stopped",
    );
}

function pageQuery(options: OptionValues): { readonly limit?: number; readonly cursor?: string } {
  const limit = options.number("limit");
  const cursor = options.text("cursor");
  return { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
}

const pageLimitDefault = defaultOf(pageLimitField);

/** Prints a listing: a table for people, a row a line for programs. */
export async function printList(
  call: ClientCall,
  list: {
    readonly path: string;
    readonly query?: CallOptions["query"];
    readonly columns: readonly Column<Json>[];
    /** What to say to people when there is nothing. */
    readonly none: string;
  },
): Promise<void> {
  const { client, terminal, options } = call;
  const { limit, ...from } = pageQuery(options);
  const rows: Json[] = [];
  let shown = 0;
  let { cursor }: { cursor?: unknown } = from;
  for (;;) {
    const page = await client.get(list.path, {
      query: {
        ...list.query,
        ...(limit !== undefined && { limit: options.flag("all") ? limit : limit - shown }),
        ...(typeof cursor === "string" && { cursor }),
      },
    });
    const data = page["data"] as readonly Json[];
    shown += data.length;
    if (terminal.json) for (const row of data) terminal.object(withFields(terminal, row));
    else rows.push(...data);
    cursor = page["next_cursor"];
    if (typeof cursor !== "string") break;
    // A search that had looked at enough for one page goes on until this one is full.
    const isCutShort = page["complete"] === false && shown < (limit ?? pageLimitDefault);
    if (!options.flag("all") && !isCutShort) break;
    if (isCutShort) terminal.note(`searched back to ${cellText(page["searched_to"])}, ${shown} found so far`);
  }
  if (!terminal.json) {
    if (rows.length > 0) printTable(terminal, { columns: columnsOf(terminal, list.columns), rows });
    else terminal.note(list.none);
  }
  if (typeof cursor === "string") terminal.note(`there is more: --cursor ${cursor}, or --all`);
}

/** Prints one thing: fields for people, JSON for programs. */
export function printOne(terminal: Terminal, value: Json): void {
  const shown = withFields(terminal, value);
  if (terminal.json) terminal.object(shown);
  else printFields(terminal, shown);
}

function columnsOf(terminal: Terminal, columns: readonly Column<Json>[]): readonly Column<Json>[] {
  return (
    terminal.fields?.map((name) => ({ title: name, value: (row: Json) => memberAt(row, name) })) ?? columns
  );
}

function withFields(terminal: Terminal, row: Json): Json {
  return terminal.fields === null
    ? row
    : Object.fromEntries(terminal.fields.map((name) => [name, memberAt(row, name) ?? null]));
}

/** `webhook.url` is a member of a member. */
function memberAt(row: Json, name: string): unknown {
  return name.split(".").reduce<unknown>((value, part) => (value as Json | null | undefined)?.[part], row);
}

export function parseJson(text: string, { what }: { readonly what: string }): unknown {
  try {
    return parseLossless(text);
  } catch (error) {
    throw new UsageError(`${what} is not valid JSON: ${messageOf(error)}`);
  }
}

/** For repeatable options. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
