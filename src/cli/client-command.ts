import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { parseLossless } from "../domain/json/lossless.ts";
import { messageOf } from "../domain/thrown.ts";
import { defaultOf } from "../resources/field.ts";
import { pageLimitField } from "../resources/names.ts";
import { ApiClient, type CallOptions, type Json } from "./api-client.ts";
import { findServer, type GivenServer } from "./connection.ts";
import { RefusedError, UsageError } from "./failures.ts";
import type { Invocation } from "./invocation.ts";
import { cellText, type Column, printFields, printTable } from "./table.ts";
import { type Terminal, untilStopped } from "./terminal.ts";
import { timeOf } from "./times.ts";

/** Context of a client command. */
export interface ClientCall {
  readonly client: ApiClient;
  readonly terminal: Terminal;
  readonly args: readonly string[];
  readonly options: OptionValues;
  readonly invocation: Invocation;
}

/** Typed access to the options parsed by commander. */
export class OptionValues {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** Whether the option was passed, with or without a value. */
  given(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** Value of an option that is `true` or `false`, already validated. */
  boolean(name: string): boolean | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : text === "true";
  }

  /** Values of a repeated option. Commas are not separators. */
  texts(name: string): readonly string[] | undefined {
    const value = this.#values[name];
    return Array.isArray(value) ? (value as string[]) : undefined;
  }

  /** Values of a repeated or comma-separated option. */
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

  /**
   * A time, or a duration such as `1h` that is subtracted from the current time. With `ahead`, the duration is added.
   */
  time(name: string, direction: "ago" | "ahead" = "ago"): string | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : timeOf(text, `--${dashed(name)}`, Date.now(), direction);
  }

  /** Parsed JSON value of an option. */
  json(name: string): unknown {
    const text = this.text(name);
    return text === undefined ? undefined : parseJson(text, `--${dashed(name)}`);
  }
}

const profileHelp = "server and key saved with posthorn login (default: POSTHORN_PROFILE)";

/** Adds the options that all client commands share, and runs the command against the selected server. */
export function clientCommand(
  command: Command,
  invocation: Invocation,
  run: (call: ClientCall) => Promise<void>,
): void {
  if (showing.has(command.name())) addShowOptions(command);
  command
    .option("--url <url>", "server URL (default: POSTHORN_URL or http://127.0.0.1:8080)")
    .option("--key <key>", "API key (default: POSTHORN_KEY, or data/admin.key for a local server)")
    .option("--json", "print JSON, one object per line");
  // If the command has its own --profile, pass it before the command: posthorn --profile NAME listen …
  if (!command.options.some(({ long }) => long === "--profile"))
    command.option("--profile <name>", profileHelp);
  command.action(async () => {
    const options = new OptionValues(command.opts());
    const terminal = invocation.terminal(options.flag("json"), options.list("fields"));
    const server = findServer(givenServer(command, options), invocation.env);
    if (server.keyFile !== null)
      terminal.note(terminal.errStyle("dim", `using the admin key of ${server.keyFile}`));
    const client = new ApiClient(server.url, server.key);
    try {
      const call = { client, terminal, args: command.args, options, invocation };
      await (repeats(command) && options.given("watch") ? watch(call, run) : run(call));
    } catch (error) {
      throw await withOtherKind(error, client, command.args);
    }
  });
}

/** Server options, whether they were given before or after the command name. */
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

/**
 * Whether `--watch` repeats the command. In commands that change data, `--watch` takes no value and does not repeat the
 * command.
 */
function repeats(command: Command): boolean {
  return command.options.some(({ long, optional }) => long === "--watch" && optional);
}

/** Adds a hint if an id that was not found belongs to another kind of resource, because all ids look alike. */
async function withOtherKind(failure: unknown, client: ApiClient, args: readonly string[]): Promise<unknown> {
  const id = args.find((arg) => uuidForm.test(arg));
  if (!(failure instanceof RefusedError) || failure.code !== "not_found" || id === undefined) return failure;
  for (const { kind, plural, commands } of kinds) {
    if (!(await exists(client, `/v1/${plural}/${id}`))) continue;
    const hint = `This id belongs to ${kind}: ${commands.map((one) => `posthorn ${one} ${id}`).join(", or ")}`;
    return new RefusedError(failure.message, failure.code, [...failure.hints, hint]);
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

/** Adds the options of list commands. */
export function addPageOptions(command: Command): Command {
  return command
    .option("--limit <count>", "maximum rows, up to 250", "50")
    .option("--cursor <cursor>", "continue a listing from this cursor")
    .option("--all", "print all pages")
    .option("--fields <names>", "print only these fields of each row, such as id,status", collect)
    .option("--watch [seconds]", "repeat until stopped, every 2 seconds by default");
}

/** Commands that show one resource. */
const showing: ReadonlySet<string> = new Set(["get", "health", "backlog", "system"]);

function addShowOptions(command: Command): void {
  command
    .option("--fields <names>", "print only these fields, such as id,status", collect)
    .option("--watch [seconds]", "repeat until stopped, every 2 seconds by default");
}

function pageQuery(options: OptionValues): { readonly limit?: number; readonly cursor?: string } {
  const limit = options.number("limit");
  const cursor = options.text("cursor");
  return { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
}

const pageLimitDefault = defaultOf(pageLimitField);

/** Prints a list: a table, or one JSON object per line. */
export async function printList(
  call: ClientCall,
  path: string,
  columns: readonly Column<Json>[],
  /** Printed if the list is empty. */ none: string,
  query?: CallOptions["query"],
): Promise<void> {
  const { client, terminal, options } = call;
  const { limit, ...from } = pageQuery(options);
  const rows: Json[] = [];
  let shown = 0;
  let { cursor }: { cursor?: unknown } = from;
  for (;;) {
    const page = await client.get(path, {
      query: {
        ...query,
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
    // A time-limited search may return a short page. Continue until the page is full.
    const isCutShort = page["complete"] === false && shown < (limit ?? pageLimitDefault);
    if (!options.flag("all") && !isCutShort) break;
    if (isCutShort) terminal.note(`searched back to ${cellText(page["searched_to"])}, ${shown} found so far`);
  }
  if (!terminal.json) {
    if (rows.length > 0) printTable(terminal, columnsOf(terminal, columns), rows);
    else terminal.note(none);
  }
  if (typeof cursor === "string") terminal.note(`more rows: --cursor ${cursor}, or --all`);
}

/** Prints one resource: fields, or JSON. */
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

/** Resolves nested names such as `webhook.url`. */
function memberAt(row: Json, name: string): unknown {
  return name.split(".").reduce<unknown>((value, part) => (value as Json | null | undefined)?.[part], row);
}

export function parseJson(text: string, what: string): unknown {
  try {
    return parseLossless(text);
  } catch (error) {
    throw new UsageError(`${what} is not valid JSON: ${messageOf(error)}`);
  }
}

/** `where` is the name of the option or argument in the error message. */
export function documentOf(text: string | undefined, where: string): Json {
  try {
    const value: unknown = parseLossless(text ?? "");
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  } catch {
    // The error is thrown below.
  }
  throw new UsageError(`${where} must be a JSON object`);
}

/** Collects the values of a repeatable option. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const secondsDefault = 2;
const secondsMin = 0.2;

/** Repeats a command until stopped. */
async function watch(call: ClientCall, run: (call: ClientCall) => Promise<void>): Promise<void> {
  const { options, terminal, invocation } = call;
  const seconds = options.flag("watch") ? secondsDefault : (options.number("watch") ?? secondsDefault);
  if (seconds < secondsMin)
    throw new UsageError(`--watch takes ${secondsMin} seconds or more, not ${seconds}`);
  const stop = new AbortController();
  void untilStopped(invocation).then(() => stop.abort());
  while (!stop.signal.aborted) {
    if (!terminal.json) terminal.clear();
    await run(call);
    await sleep(seconds * 1_000, undefined, { signal: stop.signal }).catch(() => undefined);
  }
}
