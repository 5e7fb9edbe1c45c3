/** Form fields, and the conversion of typed text to API values and CLI options. */
import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";

type FieldKind = "line" | "text" | "list" | "number" | "choice" | "flag" | "headers" | "json" | "secret";

export interface FormField {
  /** API path, such as `rate_limit.requests_per_minute`. */
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly hint?: string;
  /** Values and their labels. The first is the default. */
  readonly choices?: readonly (readonly [string, string])[];
  /** Visible lines of a multi-line field. */
  readonly rows?: number;
  readonly isForCreation?: boolean;
  readonly isForAdmins?: boolean;
  readonly isSeldom?: boolean;
  /** Value sent for an empty field, if it is not an empty string. */
  readonly whenEmpty?: null | readonly [];
}

/** Fields that a form shows collapsed. */
export function seldom(fields: readonly FormField[]): readonly FormField[] {
  return fields.map((field) => ({ ...field, isSeldom: true }));
}

/** Typed text, keyed by field name. */
export type Typed = Readonly<Record<string, string>>;

/** Converts the values of a resource to typed text. */
export function typedOf(fields: readonly FormField[], resource: object): Typed {
  return Object.fromEntries(fields.map((field) => [field.name, shownText(resource, field)]));
}

function shownText(resource: object, { name, kind }: FormField): string {
  if (kind === "secret") return "";
  const [member = "", inner] = name.split(".");
  const outer = (resource as Readonly<Record<string, unknown>>)[member];
  const value = inner === undefined ? outer : ((outer ?? {}) as Readonly<Record<string, unknown>>)[inner];
  if (value === null || value === undefined) return "";
  if (kind === "headers") {
    return Object.entries(value as Readonly<Record<string, string>>)
      .map(([header, text]) => `${header}: ${text}`)
      .join("\n");
  }
  if (kind === "json") return JSON.stringify(value, null, 2);
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

export interface FormProblem {
  readonly field: string;
  readonly message: string;
}

/** Problem with the field or with a part of it, such as `events[0]`. */
export function problemOf(problems: readonly FormProblem[], name: string): string | null {
  const found = problems.find(
    ({ field }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`),
  );
  return found?.message ?? null;
}

/** The problem as a sentence about the field. */
export function problemText(problems: readonly FormProblem[], name: string, label: string): string | null {
  const problem = problemOf(problems, name);
  return problem === null ? null : `${label} ${problem}.`;
}

export interface FormBody {
  readonly body: Readonly<Record<string, unknown>>;
  /** Problems that prevent sending. */
  readonly problems: readonly FormProblem[];
}

/** Creates the request body from the fields that differ from `before`. */
export function bodyOf(fields: readonly FormField[], typed: Typed, before: Typed): FormBody {
  const body: Record<string, unknown> = {};
  const problems: FormProblem[] = [];
  for (const field of fields) {
    const text = typed[field.name] ?? "";
    if (text === (before[field.name] ?? "")) continue;
    const value = valueOf(field, text);
    if (value instanceof Error) problems.push({ field: field.name, message: value.message });
    else put(body, field.name, value);
  }
  if (body["rate_limit"] !== undefined) body["rate_limit"] = rateLimitOf(typed);
  return { body, problems };
}

/** Body from `bodyOf` as text. JSON fields keep the text as typed, because parsing would round numbers. */
export function bodyTextOf(fields: readonly FormField[], body: FormBody["body"], typed: Typed): string {
  const asTyped = new Set(fields.filter(({ kind }) => kind === "json").map(({ name }) => name));
  const members = Object.entries(body).map(([name, value]) => {
    const text = asTyped.has(name) ? (typed[name] ?? "").trim() : "";
    return `${JSON.stringify(name)}:${text === "" ? JSON.stringify(value) : text}`;
  });
  return `{${members.join(",")}}`;
}

function put(body: Record<string, unknown>, name: string, value: unknown): void {
  const [member = "", inner] = name.split(".");
  if (inner === undefined) body[member] = value;
  else body[member] = { ...(body[member] as object | undefined), [inner]: value };
}

/** Combines the two fields into one value. Without requests per minute, the rate is unlimited. */
function rateLimitOf(typed: Typed): unknown {
  const perMinute = typed["rate_limit.requests_per_minute"] ?? "";
  const burst = typed["rate_limit.burst"] ?? "";
  if (perMinute === "") return null;
  return { requests_per_minute: Number(perMinute), ...(burst !== "" && { burst: Number(burst) }) };
}

function valueOf({ kind, whenEmpty }: FormField, text: string): unknown {
  const given = text.trim();
  if (given === "" && whenEmpty !== undefined) return whenEmpty;
  if (kind === "list") return given.split(/[\s,]+/).filter((one) => one !== "");
  if (kind === "flag") return given === "true";
  if (kind === "number") return given === "" ? null : numberOf(given);
  if (kind === "headers") return headersOf(given);
  if (kind === "json") return jsonOf(given);
  return given;
}

function numberOf(text: string): number | Error {
  return /^\d+$/.test(text) ? Number(text) : new Error("must be a whole number");
}

function headersOf(text: string): Readonly<Record<string, string>> | Error {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line));
  const wrong = pairs.indexOf(null);
  if (wrong >= 0) return new Error(`must have a name and a colon in line ${wrong + 1}`);
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""]));
}

function jsonOf(text: string): unknown {
  try {
    return text === "" ? {} : (JSON.parse(text) as unknown);
  } catch {
    return new Error("is not valid JSON");
  }
}

/** Maps an API field to the CLI options that set it. Null if no option can express the value. */
export type CommandOptions = Readonly<
  Record<string, (value: unknown) => readonly (readonly [option: string, value: string])[] | null>
>;

/** Equivalent CLI command. Null if a field has no option. */
export function changeCommand(
  command: ShellText,
  body: FormBody["body"],
  options: CommandOptions,
): ShellText | null {
  const said = Object.entries(body).map(([name, value]) => options[name]?.(value) ?? null);
  const all = said.filter((one) => one !== null);
  return all.length < said.length ? null : shell`${command}${shellOptions(all.flat())}`;
}
