/** The fields of the form for a webhook: how each is typed, and how what was typed becomes what the API takes. */
import type { Webhook } from "../../shared/resources.ts";

export type FieldKind = "line" | "list" | "number" | "choice" | "flag" | "headers" | "json" | "secret";

export interface FormField {
  /** Path in the API, such as `rate_limit.requests_per_minute`. */
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly hint?: string;
  /** Values and their names; the first is what it is without a choice. */
  readonly choices?: readonly (readonly [string, string])[];
  readonly isForCreation?: boolean;
  readonly isForAdmins?: boolean;
  readonly isSeldom?: boolean;
}

export const formFields: readonly FormField[] = [
  { name: "url", label: "URL", kind: "line", hint: "https, and a public address." },
  {
    name: "events",
    label: "Event types",
    kind: "list",
    hint: "order.* takes all below, * all; commas between.",
  },
  { name: "description", label: "Description", kind: "line" },
  {
    name: "tenant_id",
    label: "Tenant",
    kind: "line",
    hint: "The default tenant when left empty.",
    isForCreation: true,
    isForAdmins: true,
  },
  { name: "profile", label: "Profile", kind: "choice", hint: "Signatures, retries and headers, as data." },
  { name: "active", label: "Deliver to it", kind: "flag" },
  {
    name: "rate_limit.requests_per_minute",
    label: "Requests a minute at most",
    kind: "number",
    hint: "No limit when left empty.",
    isSeldom: true,
  },
  { name: "rate_limit.burst", label: "Requests at once", kind: "number", isSeldom: true },
  {
    name: "ordering_guarantee",
    label: "Order",
    kind: "choice",
    choices: [
      ["none", "none: as fast as it goes"],
      ["per_event_type", "in order for each event type"],
      ["strict", "in order, one at a time"],
    ],
    isSeldom: true,
  },
  { name: "timeout_ms", label: "Timeout, ms", kind: "number", isSeldom: true },
  { name: "retry_config.max_attempts", label: "Attempts at most", kind: "number", isSeldom: true },
  {
    name: "verification",
    label: "The receiver shows that it wants events",
    kind: "choice",
    choices: [
      ["none", "no"],
      ["challenge", "by echoing a text"],
      ["cloudevents", "by the CloudEvents handshake"],
      ["dns", "by a TXT record of its domain"],
    ],
    isForCreation: true,
    isSeldom: true,
  },
  {
    name: "headers",
    label: "Headers",
    kind: "headers",
    hint: "One a line, such as X-Shop: berlin. Shown to everybody who may read.",
    isSeldom: true,
  },
  {
    name: "bearer_token",
    label: "Bearer token",
    kind: "secret",
    hint: "Kept encrypted and never shown. Left empty it stays as it is.",
    isSeldom: true,
  },
  {
    name: "secret",
    label: "Signing secret",
    kind: "secret",
    hint: "Made by the server when left empty, and shown once.",
    isForCreation: true,
    isSeldom: true,
  },
  { name: "http2", label: "HTTP/2 where the receiver offers it", kind: "flag", isSeldom: true },
  { name: "metadata", label: "Metadata (JSON)", kind: "json", isSeldom: true },
];

/** What was typed, by name of the field. */
export type Typed = Readonly<Record<string, string>>;

/** What a webhook has, as it would be typed. Without one, what a new one begins with. */
export function typedOf(webhook: Webhook | null): Typed {
  const begun: Typed = { active: "true", metadata: "{}", profile: "standard", ordering_guarantee: "none" };
  if (webhook === null) return { ...begun, verification: "none" };
  return Object.fromEntries(formFields.map((field) => [field.name, shownText(webhook, field)]));
}

function shownText(webhook: Webhook, { name, kind }: FormField): string {
  if (kind === "secret") return "";
  const [member = "", inner] = name.split(".");
  const outer = (webhook as Readonly<Record<string, unknown>>)[member];
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

export interface FormBody {
  readonly body: Readonly<Record<string, unknown>>;
  /** What cannot be sent as it was typed. */
  readonly problems: readonly FormProblem[];
}

/** What differs from `before`, as the API takes it. */
export function bodyOf(typed: Typed, before: Typed): FormBody {
  const body: Record<string, unknown> = {};
  const problems: FormProblem[] = [];
  for (const field of formFields) {
    const text = typed[field.name] ?? "";
    if (text === (before[field.name] ?? "")) continue;
    const value = valueOf(field, text);
    if (value instanceof Error) problems.push({ field: field.name, message: value.message });
    else put(body, { name: field.name, value });
  }
  if (body["rate_limit"] !== undefined) body["rate_limit"] = rateLimitOf(typed);
  return { body, problems };
}

function put(
  body: Record<string, unknown>,
  { name, value }: { readonly name: string; readonly value: unknown },
): void {
  const [member = "", inner] = name.split(".");
  if (inner === undefined) body[member] = value;
  else body[member] = { ...(body[member] as object | undefined), [inner]: value };
}

/** Both of its fields belong together: without requests a minute there is no limit. */
function rateLimitOf(typed: Typed): unknown {
  const perMinute = typed["rate_limit.requests_per_minute"] ?? "";
  const burst = typed["rate_limit.burst"] ?? "";
  if (perMinute === "") return null;
  return { requests_per_minute: Number(perMinute), ...(burst !== "" && { burst: Number(burst) }) };
}

function valueOf({ kind }: FormField, text: string): unknown {
  const given = text.trim();
  if (kind === "list") return given.split(/[\s,]+/).filter((one) => one !== "");
  if (kind === "flag") return given === "true";
  if (kind === "number") return given === "" ? null : numberOf(given);
  if (kind === "headers") return headersOf(given);
  if (kind === "json") return jsonOf(given);
  return given;
}

function numberOf(text: string): number | Error {
  return /^\d+$/.test(text) ? Number(text) : new Error("is no whole number");
}

function headersOf(text: string): Readonly<Record<string, string>> | Error {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line));
  const wrong = pairs.indexOf(null);
  if (wrong >= 0) return new Error(`has no name and colon in line ${wrong + 1}`);
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""]));
}

function jsonOf(text: string): unknown {
  try {
    return text === "" ? {} : (JSON.parse(text) as unknown);
  } catch {
    return new Error("is no JSON");
  }
}
