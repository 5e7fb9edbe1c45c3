import { type DestinationStream, pino } from "pino";
import type { LogFields, Logger } from "../../ports/telemetry.ts";

/**
 * Removes data from the log that must never be in it: keys, secrets, and the query of a URL, which often contains a
 * token (EDS-11.6-2, TS16-78). Callers already avoid such data; this is an additional safeguard.
 */

/** Names of fields whose value is replaced. */
const secretField =
  /^(authorization|cookie|set-cookie|password|passphrase|secret|secrets|token|bearer|bearer_?token|(admin|master|api|private)_?key|payload|body|data)$/i;

/** Secrets in our own formats, anywhere in a text. */
const secretText = /\b(?:whsec|whsk)_[A-Za-z0-9+/=_-]{8,}|\bBearer\s+[^\s"']+|\bphk_[A-Za-z0-9_-]{12,}/g;
/** Anchored at the beginning of a word. Otherwise, a long word would be scanned once for each of its characters. */
const credentials = /(\b\w+:\/\/)[^\s/@:]*:[^\s/@]*@/g;
const query = /(https?:\/\/[^\s?#"']+)\?[^\s"'#]*/g;

const hidden = "[redacted]";
const depthMax = 6;

/** A copy of the fields that is safe to write. */
function redact(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactObject(fields, 0);
}

/** The text without our secrets, credentials and URL queries. */
function redactText(text: string): string {
  // Most lines contain none of these, and this test is the cheapest way to determine that.
  if (!/_|:\/\/|earer/.test(text)) return text;
  return text
    .replaceAll(secretText, hidden)
    .replaceAll(credentials, `$1${hidden}@`)
    .replaceAll(query, `$1?${hidden}`);
}

function redactObject(object: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const safe: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) {
    safe[name] =
      secretField.test(name) && value !== null && value !== undefined ? hidden : redactValue(value, depth);
  }
  return safe;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return redactText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= depthMax) return "[too deep]";
  if (value instanceof Error) return redactError(value);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((entry) => redactValue(entry, depth + 1));
  return redactObject(value as Record<string, unknown>, depth + 1);
}

function redactError(error: Error): Record<string, unknown> {
  return { type: error.name, message: redactText(error.message), stack: redactText(error.stack ?? "") };
}

// A human-readable log line: time, level, message, then the fields as `name=value`.

interface LineStyle {
  readonly colour: boolean;
}

const levels: Readonly<Record<number, { readonly label: string; readonly code: number }>> = {
  20: { label: "debug", code: 90 },
  30: { label: "info ", code: 32 },
  40: { label: "warn ", code: 33 },
  50: { label: "error", code: 31 },
};

/** Formats one line of pino's JSON as text, with a line break at the end. A stack trace follows indented. */
function formatLine(json: string, style: LineStyle): string {
  const { level, time, msg, stack, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const { label, code } = levels[Number(level)] ?? { label: String(level), code: 0 };
  const clock = String(time).slice(11, 23);
  const rest = Object.entries(fields).map(([name, value]) => paint(` ${name}=${shown(value)}`, 90, style));
  const below = typeof stack === "string" ? `\n${stack.replaceAll(/^/gm, "    ")}` : "";
  return `${paint(clock, 90, style)} ${paint(label, code, style)} ${plain(String(msg))}${rest.join("")}${below}\n`;
}

function shown(value: unknown): string {
  if (typeof value === "string") return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value) ?? "undefined";
}

/**
 * Replaces control characters, because text from a receiver or publisher must not move the cursor in the reader's
 * terminal.
 */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => (character === "\n" ? "\n" : "·"));
}

function paint(text: string, code: number, style: LineStyle): string {
  return style.colour && code !== 0 ? `\u001b[${code}m${text}\u001b[39m` : text;
}

export interface LoggerOptions {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly format: "text" | "json";
  readonly colour: boolean;
  /** Writes whole lines. Uses standard error, because standard output is for data. */
  readonly write: (line: string) => void;
}

/** Structured log on pino. Fields are redacted before they are formatted, so that no format can leak secrets. */
export function createPinoLogger(options: LoggerOptions): Logger {
  const { format, colour, write } = options;
  const destination: DestinationStream = {
    write: format === "json" ? write : (line) => write(formatLine(line, { colour })),
  };
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: levelNames(format),
    },
    destination,
  );
  const at =
    (level: LoggerOptions["level"]) =>
    (fields: LogFields, message: string): void => {
      if (log.isLevelEnabled(level)) log[level](redact(fields), redactText(message));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Level names for JSON, because its readers may not recognise pino's numbers; the text format has a separate table. */
function levelNames(format: LoggerOptions["format"]) {
  return format === "json" ? { level: (label: string) => ({ level: label }) } : {};
}
