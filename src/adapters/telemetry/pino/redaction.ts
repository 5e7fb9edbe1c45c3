/**
 * Keeps out of the log what must never reach it: keys, secrets, and the query of a URL, which often holds a token
 * (EDS-11.6-2, TS16-78). Callers are careful already; this is the safety net.
 */

/** Names of fields whose value is replaced. */
const secretField =
  /^(authorization|cookie|set-cookie|password|passphrase|secret|secrets|token|bearer|bearer_?token|(admin|master|api|private)_?key|payload|body|data)$/i;

/** Our own formats of secrets, within any text. */
const secretText = /\b(?:whsec|whsk)_[A-Za-z0-9+/=_-]{8,}|\bBearer\s+[^\s"']+|\bphk_[A-Za-z0-9_-]{12,}/g;
/** Anchored at the beginning of a word: otherwise a long word is scanned once for each of its characters. */
const credentials = /(\b\w+:\/\/)[^\s/@:]*:[^\s/@]*@/g;
const query = /(https?:\/\/[^\s?#"']+)\?[^\s"'#]*/g;

const hidden = "[redacted]";
const depthMax = 6;

/** A copy of the fields that is safe to write. */
export function redact(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactObject(fields, 0);
}

/** The text without our secrets, credentials and URL queries. */
export function redactText(text: string): string {
  // Most lines contain none of these, and this test is the cheapest way to find out.
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
