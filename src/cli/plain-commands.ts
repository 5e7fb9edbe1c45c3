import { type Command, Option } from "commander";
import { apiName, type Field, type Fields, judgeField, type Kind } from "../resources/field.ts";
import { rateLimitFields, tenantIdField } from "../resources/names.ts";
import type { ColumnTable, OptionTable, Resource } from "../resources/resource.ts";
import type { CallOptions, Json } from "./api-client.ts";
import {
  addPageOptions,
  type ClientCall,
  clientCommand,
  collect,
  documentOf,
  type OptionValues,
  printList,
  printOne,
} from "./client-command.ts";
import { UsageError } from "./failures.ts";
import type { Invocation } from "./invocation.ts";
import { type Column, columns, timeIn } from "./table.ts";

/** An option that sets a field. Its help shows the bounds, and its values are validated before sending. */
export class FieldOption extends Option {
  readonly field: Field;

  /** `says` replaces the description of the field. `none` is the option value that stands for null. */
  constructor(flags: string, field: Field, says?: string, none?: string) {
    super(flags, helpOf(field, says));
    this.field = field;
    const isList = field.kind.is === "list";
    this.argParser((text: string, before: unknown): unknown => {
      if (text !== none) this.#check(isList ? text.split(",") : text);
      return isList ? collect(text, before as readonly string[] | undefined) : text;
    });
    // Other defaults are applied by the server.
    if (typeof field.default === "number") this.default(String(field.default));
  }

  /** Validates the value. The error message does not contain it, because it may be a secret. */
  #check(given: string | readonly string[]): void {
    const path = this.long ?? "";
    const [problem] = judgeField(this.field, path, typedValue(this.field.kind, given));
    if (problem !== undefined) throw new UsageError(`${path} ${problem.message}`);
  }
}

export function tenantOption(): FieldOption {
  return new FieldOption("--tenant <id>", tenantIdField, "tenant (administrators)");
}

function typedValue(kind: Kind, given: string | readonly string[]): unknown {
  if (typeof given !== "string") return given;
  if (kind.is === "number") return given.trim() === "" ? given : Number(given);
  if (kind.is === "flag") return given === "true" || (given === "false" ? false : given);
  return given;
}

function helpOf({ kind, doc }: Field, says: string | undefined): string {
  const sentence = (says ?? doc ?? "").replaceAll("`", "").replace(/\.$/, "");
  const start = sentence.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
  const bounds = boundsInHelp(kind);
  return [start, bounds].filter((part) => part !== "").join(start === "" ? "" : ": ");
}

function boundsInHelp(kind: Kind): string {
  switch (kind.is) {
    case "number":
      return `${kind.min} to ${kind.max}`;
    case "choice":
      return `${kind.values.slice(0, -1).join(", ")} or ${kind.values.at(-1) ?? ""}`;
    case "flag":
      return "true or false";
    case "text":
      return `up to ${kind.lengthMax} characters`;
    case "object":
      return kind.shorthand === null ? "" : boundsInHelp(kind.fields[kind.shorthand]?.kind ?? kind);
    default:
      return "";
  }
}

/** `says` describes the rate. "none" removes the limit. */
function addRateLimitOptions(command: Command, says: string): Command {
  return command
    .addOption(
      new FieldOption(
        "--rate-limit <per-minute>",
        rateLimitFields.requestsPerMinute,
        `${says}, or none to remove the limit`,
        "none",
      ),
    )
    .addOption(
      // The option has no default, because an omitted option must keep the current value.
      new FieldOption("--burst <requests>", rateLimitFields.burst, "burst size, with --rate-limit").default(
        undefined,
      ),
    );
}

/** Undefined if the options are not given; null to remove the limit. */
function rateLimitOf(options: OptionValues): object | null | undefined {
  const burst = options.number("burst");
  const isLifted = options.text("rateLimit") === "none";
  const perMinute = isLifted ? undefined : options.number("rateLimit");
  if (burst !== undefined && perMinute === undefined) throw new UsageError("--burst requires --rate-limit");
  if (perMinute === undefined) return isLifted ? null : undefined;
  return { requests_per_minute: perMinute, ...(burst !== undefined && { burst }) };
}

/** Adds the options that the table defines for the fields. */
export function addFieldOptions<F extends Fields>(
  command: Command,
  fields: F,
  table: OptionTable<F>,
): Command {
  for (const { field, flags, help } of spelled(fields, table)) {
    if (isRateLimit(field)) addRateLimitOptions(command, help ?? "");
    else if (isJson(field) || isSwitch(field, flags)) command.option(flags, help ?? "");
    else command.addOption(new FieldOption(flags, field, help).makeOptionMandatory(field.isRequired));
  }
  return command;
}

/** The fields that were given as options, in the form of the API; the others are undefined. */
export function bodyOf<F extends Fields>(options: OptionValues, fields: F, table: OptionTable<F>): Json {
  const body: Record<string, unknown> = {};
  for (const { name, field, flags } of spelled(fields, table))
    body[apiName(name, field)] = isRateLimit(field) ? rateLimitOf(options) : valueOf(options, field, flags);
  return body;
}

/** The query parameters that were given as options. */
export function queryOf<F extends Fields>(
  options: OptionValues,
  fields: F,
  table: OptionTable<F>,
): NonNullable<CallOptions["query"]> {
  return bodyOf(options, fields, table) as NonNullable<CallOptions["query"]>;
}

interface Spelled {
  readonly name: string;
  readonly field: Field;
  readonly flags: string;
  readonly help: string | undefined;
}

function spelled<F extends Fields>(fields: F, table: OptionTable<F>): readonly Spelled[] {
  return Object.entries(table as OptionTable<Fields>).map(([name, spelling = ""]) => {
    const [flags, help] = typeof spelling === "string" ? [spelling] : spelling;
    return { name, field: fields[name] as Field, flags, help };
  });
}

/** A rate limit has a separate option for each of its two fields. */
function isRateLimit({ kind }: Field): boolean {
  return kind.is === "object" && kind.fields === rateLimitFields;
}

/** Whether the value of the field is entered as JSON. */
function isJson({ kind }: Field): boolean {
  return kind.is === "document" || (kind.is === "object" && kind.shorthand === null);
}

/** Whether the option takes no value, such as `--allow-chain`. */
function isSwitch({ kind }: Field, flags: string): boolean {
  return kind.is === "flag" && !flags.includes("<");
}

function valueOf(options: OptionValues, field: Field, flags: string): unknown {
  const name = attributeOf(flags);
  const { kind } = field;
  if (isJson(field))
    return options.given(name) ? documentOf(options.text(name), `--${flagName(flags)}`) : undefined;
  if (isSwitch(field, flags)) return options.flag(name) || undefined;
  if (kind.is === "number") return options.number(name);
  if (kind.is === "flag") return options.boolean(name);
  return kind.is === "list" ? options.list(name) : options.text(name);
}

/** Returns `webhooksMax` for `--webhooks-max <count>`. */
function attributeOf(flags: string): string {
  return flagName(flags).replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function flagName(flags: string): string {
  return /--([a-z0-9-]+)/.exec(flags)?.[1] ?? "";
}

/**
 * Adds time filters, including `--since` as an alias. `what` names the timestamp that is compared, such as `created `.
 */
export function addTimeRange(command: Command, what: string): Command {
  return command
    .option("--from <time>", `${what}at or after this time, date, or duration before now such as 1h`)
    .option("--since <time>", "alias of --from")
    .option("--to <time>", `${what}before this time, date, or duration before now such as 1h`);
}

export function timeRangeOf(options: OptionValues) {
  return { from: options.time("from") ?? options.time("since"), to: options.time("to") };
}

/** Tenant filter for lists that cover all tenants. */
export const tenantFilterOption = { tenantId: ["--tenant <id>", "tenant (administrators)"] } as const;

function columnsOf<Shown extends Fields>(shown: Shown, table: ColumnTable<Shown>): readonly Column<Json>[] {
  const cells = Object.entries(table).map(([title, what]) => {
    const field = typeof what === "string" ? shown[what] : undefined;
    if (field === undefined || typeof what === "function") return [title, what];
    const name = apiName(what, field);
    return [title, field.kind.is === "time" ? timeIn(name) : name];
  });
  return columns(Object.fromEntries(cells) as Parameters<typeof columns<Json>>[0]);
}

/** The parts of a resource that its commands use. */
type Commanded<Input extends Fields, Shown extends Fields> = Pick<Resource, "path"> &
  Partial<Pick<Resource<Input, Shown>, "key" | "input" | "shown" | "filters">> & {
    readonly schemas?: { readonly query: unknown };
  };

/** Options that are not plain fields, and what they add to the body or query. */
interface MoreOptions {
  readonly add: (command: Command) => unknown;
  readonly given: (options: OptionValues) => Promise<Json> | Json;
}

/** Acts on the resource with this path. */
type Act = (call: ClientCall, path: string) => Promise<void>;

/** Returns an action that calls a path below that of the resource, and prints the response. */
export function acts(method: string, below = "", body?: (call: ClientCall) => unknown): Act {
  return async (call, path) => {
    printOne(call.terminal, await call.client.call(method, { path: path + below, body: body?.(call) }));
  };
}

/** The plain commands of a resource: list, get, change, delete, and actions on a single resource. */
export class PlainCommands<Input extends Fields, Shown extends Fields> {
  readonly #parent: Command;
  readonly #invocation: Invocation;
  readonly #resource: Commanded<Input, Shown>;

  constructor(parent: Command, invocation: Invocation, resource: Commanded<Input, Shown>) {
    this.#parent = parent;
    this.#invocation = invocation;
    this.#resource = resource;
  }

  /**
   * `none` is printed if the list is empty. Columns name shown fields, or members of a row if the resource does not
   * define shown fields.
   */
  list(
    says: string,
    table: ColumnTable<Shown>,
    none: string,
    filters: OptionTable<Fields> = {},
    more?: MoreOptions,
  ): void {
    const { path, shown = {} as Shown, filters: fields = {} } = this.#resource;
    const command = addPageOptions(this.#parent.command("list").description(says));
    addFieldOptions(command, fields, filters);
    more?.add(command);
    clientCommand(command, this.#invocation, async (call) => {
      const query = { ...queryOf(call.options, fields, filters), ...(await more?.given(call.options)) };
      await printList(call, path, columnsOf(shown, table), none, query as CallOptions["query"]);
    });
  }

  /** `below` is the path below that of the resource, such as `/health`. */
  get(says: string, argument: string, name = "get", below = ""): void {
    const query = (options: OptionValues) => this.#query(options);
    this.#run(this.#one(name, says, argument), async ({ client, terminal, options }, path) => {
      printOne(terminal, await client.get(path + below, { query: query(options) }));
    });
  }

  /** Adds a command for any other action on one resource. */
  one(name: string, says: string, argument: string, run: Act, add?: (command: Command) => unknown): void {
    const command = this.#one(name, says, argument);
    add?.(command);
    this.#run(command, run);
  }

  change(
    method: "PUT" | "PATCH",
    says: string,
    argument: string,
    table: OptionTable<Input>,
    more?: MoreOptions,
  ): void {
    const { input = {} as Input } = this.#resource;
    const command = this.#one(method === "PUT" ? "put" : "update", says, argument);
    addFieldOptions(command, input, table);
    more?.add(command);
    this.#run(command, async ({ client, terminal, options }, path) => {
      const body = { ...bodyOf(options, input, table), ...(await more?.given(options)) };
      printOne(terminal, await client.call(method, { path, body, query: this.#query(options) }));
    });
  }

  delete(says: string, argument: string, verb: "delete" | "revoke" = "delete"): void {
    this.#run(this.#one(verb, says, argument), async (call, path) => {
      const { client, terminal, args, options } = call;
      const [key = ""] = args;
      if (key === "")
        throw new UsageError(`${argument} is required. See: posthorn ${this.#parent.name()} list`);
      await client.call("DELETE", { path, query: this.#query(options) });
      if (terminal.json) terminal.object({ [this.#resource.key ?? "id"]: key, [`${verb}d`]: true });
      else terminal.note(`${verb}d ${key}`);
    });
  }

  #one(name: string, says: string, argument: string): Command {
    const command = this.#parent.command(name).description(says).argument(argument);
    return this.#isPerTenant ? command.addOption(tenantOption()) : command;
  }

  #run(command: Command, run: Act): void {
    const { path } = this.#resource;
    clientCommand(command, this.#invocation, (call) =>
      run(call, `${path}/${encodeURIComponent(call.args[0] ?? "")}`),
    );
  }

  get #isPerTenant(): boolean {
    return this.#resource.schemas?.query !== undefined;
  }

  #query(options: OptionValues): { readonly tenant_id?: string | undefined } {
    return this.#isPerTenant ? { tenant_id: options.text("tenant") } : {};
  }
}
