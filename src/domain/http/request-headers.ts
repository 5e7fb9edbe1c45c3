/**
 * Custom request headers of a webhook (WDS-62) and their restrictions (TS16-37, TS16-39).
 *
 * Reserved names are those that Posthorn sends or signs itself, those that control framing or routing, those that carry
 * credentials (a separate, encrypted field holds these), and those that identify the client to a receiver behind a
 * proxy.
 */

export const customHeaderLimits = {
  countMax: 32,
  nameBytesMax: 128,
  valueBytesMax: 2048,
  /** Limit for names and values together, plus four bytes for each line. */
  totalBytesMax: 8192,
} as const;

/** In lower case. Any header with one of these prefixes is reserved. */
export const reservedHeaderPrefixes = [
  "webhook-", // includes webhook-request-* of the CloudEvents handshake
  "x-webhook-",
  "content-",
  "proxy-",
  "ce-",
  "x-forwarded-",
  "x-http-method",
  "posthorn-",
  "x-posthorn-",
] as const;

/** In lower case. */
export const reservedHeaderNames = [
  "accept-encoding", // compressed responses are not supported
  "authorization",
  "connection",
  "cookie",
  "cookie2",
  "expect",
  "forwarded",
  "host",
  "http2-settings",
  "idempotency-key",
  "keep-alive",
  "set-cookie",
  "set-cookie2",
  "signature",
  "signature-input",
  "te",
  "traceparent",
  "tracestate",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "via",
  "x-idempotency-key",
  "x-method-override",
  "x-real-ip",
] as const;

/** Stable codes for a refused header. */
const headerProblemCodes = [
  "too_many",
  "total_too_long",
  "name_syntax",
  "name_too_long",
  "reserved",
  "duplicate",
  "value_not_text",
  "value_too_long",
  "value_characters",
] as const;
export type HeaderProblemCode = (typeof headerProblemCodes)[number];

/** `header` is null if the problem concerns all headers. Values are secret and never included. */
export interface HeaderProblem {
  readonly header: string | null;
  readonly code: HeaderProblemCode;
  readonly detail: string;
}

const reservedNames: ReadonlySet<string> = new Set(reservedHeaderNames);

/** All problems of a set of custom headers; an empty list means that they can be sent. */
export function judgeCustomHeaders(headers: Readonly<Record<string, unknown>>): HeaderProblem[] {
  return judgeHeaders(headers, isReservedHeader);
}

/** Like `judgeHeaders` for credential headers, for which the reserved name `Authorization` is allowed. */
export function judgeCredentialHeaders(headers: Readonly<Record<string, unknown>>): HeaderProblem[] {
  return judgeHeaders(headers, (name) => name.toLowerCase() !== "authorization" && isReservedHeader(name));
}

function judgeHeaders(
  headers: Readonly<Record<string, unknown>>,
  isReserved: (name: string) => boolean,
): HeaderProblem[] {
  const entries = Object.entries(headers);
  const { countMax } = customHeaderLimits;
  // Checked first, and reported alone, so that the response to a flood of headers stays small.
  if (entries.length > countMax) {
    return [{ header: null, code: "too_many", detail: `no more than ${countMax} headers are allowed` }];
  }
  const problems = entries.flatMap(([name, value]) => [
    ...namedProblems(name, nameProblem(name, isReserved)),
    ...namedProblems(name, valueProblem(value)),
  ]);
  return [...problems, ...duplicates(entries), ...totalProblem(entries)];
}

/** Whether only Posthorn may set this header. Ignores case. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return reservedNames.has(lower) || reservedHeaderPrefixes.some((prefix) => lower.startsWith(prefix));
}

type Finding = readonly [HeaderProblemCode, string] | null;

function namedProblems(name: string, finding: Finding): HeaderProblem[] {
  return finding === null ? [] : [{ header: printable(name), code: finding[0], detail: finding[1] }];
}

function nameProblem(name: string, isReserved: (name: string) => boolean): Finding {
  const { nameBytesMax } = customHeaderLimits;
  if (name.length > nameBytesMax) {
    return ["name_too_long", `a header name must not exceed ${nameBytesMax} characters`];
  }
  // A token as defined in RFC 9110. This excludes the pseudo-headers of HTTP/2, which start with a colon.
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    return ["name_syntax", "a header name must be an RFC 9110 token"];
  }
  return isReserved(name) ? ["reserved", "this header is reserved"] : null;
}

function valueProblem(value: unknown): Finding {
  const { valueBytesMax } = customHeaderLimits;
  if (typeof value !== "string") return ["value_not_text", "a header value must be a string"];
  if (value.length > valueBytesMax) {
    return ["value_too_long", `a header value must not exceed ${valueBytesMax} bytes`];
  }
  if (!/^[\x20-\x7e\xa0-\xff]*$/.test(value)) {
    return ["value_characters", "a header value must contain only printable Latin-1 characters"];
  }
  // Receivers strip spaces, so they would see a value that differs from the configured one.
  if (value.startsWith(" ") || value.endsWith(" ")) {
    return ["value_characters", "a header value must not start or end with a space"];
  }
  return null;
}

function duplicates(entries: readonly (readonly [string, unknown])[]): HeaderProblem[] {
  const seen = new Set<string>();
  return entries.flatMap(([name]) => {
    const lower = name.toLowerCase();
    if (!seen.has(lower)) {
      seen.add(lower);
      return [];
    }
    return namedProblems(name, ["duplicate", "the same header appears in a different case"]);
  });
}

function totalProblem(entries: readonly (readonly [string, unknown])[]): HeaderProblem[] {
  const { totalBytesMax } = customHeaderLimits;
  let totalBytes = 0;
  for (const [name, value] of entries) totalBytes += name.length + String(value).length + 4;
  if (totalBytes <= totalBytesMax) return [];
  const detail = `all headers together must not exceed ${totalBytesMax} bytes`;
  return [{ header: null, code: "total_too_long", detail }];
}

/** A refused name may contain any characters, so it is escaped to keep log lines and responses intact. */
function printable(name: string): string {
  return name.slice(0, customHeaderLimits.nameBytesMax).replaceAll(/[^\x21-\x7e]/g, "?");
}

/** Header fields and query parameters that carry credentials. Their values are never stored or shown. */

export const mask = "***";

const secretNames =
  /authori[sz]|authenticat|cookie|token|secret|passw|pwd|api[-_]?key|session|credential|signature|csrf|xsrf|\bjwt\b|^key$|^sig$|^code$|^auth$/i;

/** Whether a header or query parameter with this name may hold a credential. */
function isSecretName(name: string): boolean {
  return secretNames.test(name);
}

/** A URL, or any text that contains URLs, with the values of possibly secret query parameters masked. */
export function maskedParameters(text: string): string {
  if (!text.includes("=")) return text;
  return text.replaceAll(parameter, (whole, lead: string, name: string) =>
    isSecretName(decoded(name)) ? `${lead}${name}=${mask}` : whole,
  );
}

/** The path and the query without the named parameters. */
export function withoutParameters(target: string, names: readonly string[]): string {
  const at = target.indexOf("?");
  if (at < 0 || names.length === 0) return target;
  const kept = target
    .slice(at + 1)
    .split("&")
    .filter((pair) => !names.includes(decoded((pair.split("=")[0] ?? "").replaceAll("+", " "))));
  return kept.length === 0 ? target.slice(0, at) : `${target.slice(0, at)}?${kept.join("&")}`;
}

/** The value of a header in the form that may be stored. */
export function maskedField(name: string, value: string): string {
  return isSecretName(name) ? mask : maskedParameters(value);
}

/** Also matches in fragments, where some senders put tokens. User names and passwords in URLs are refused elsewhere. */
const parameter = /([?&;#])([^=&;#\s"'<>?]{1,100})=([^&;#\s"'<>]*)/g;

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
