/**
 * Custom request headers of a webhook (WDS-62) and what they may not do (C-28, TS16-37, TS16-39).
 *
 * Reserved are names that we send or sign ourselves, names that decide how a request is framed or routed, names that
 * carry credentials (there is a token field for those, kept encrypted), and names by which a receiver behind a proxy
 * learns who called.
 */

export const customHeaderLimits = {
  countMax: 32,
  nameBytesMax: 128,
  valueBytesMax: 2048,
  /** Names and values with the four bytes that each line adds. */
  totalBytesMax: 8192,
} as const;

/** Lower case; any header that starts so is reserved. */
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

/** Lower case. */
export const reservedHeaderNames = [
  "accept-encoding", // we take no compressed answers
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

/** Stable codes. */
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

/** `header` is null when the problem is about all of them. Values are secrets and never appear. */
export interface HeaderProblem {
  readonly header: string | null;
  readonly code: HeaderProblemCode;
  readonly detail: string;
}

const reservedNames: ReadonlySet<string> = new Set(reservedHeaderNames);

/** Everything wrong with a set of custom headers; an empty list means that they can be sent as they are. */
export function judgeCustomHeaders(headers: Readonly<Record<string, unknown>>): HeaderProblem[] {
  return judgeHeaders(headers, isReservedHeader);
}

/** The same for headers that carry credentials: of the reserved names `Authorization` is theirs. */
export function judgeCredentialHeaders(headers: Readonly<Record<string, unknown>>): HeaderProblem[] {
  return judgeHeaders(headers, (name) => name.toLowerCase() !== "authorization" && isReservedHeader(name));
}

function judgeHeaders(
  headers: Readonly<Record<string, unknown>>,
  isReserved: (name: string) => boolean,
): HeaderProblem[] {
  const entries = Object.entries(headers);
  const { countMax } = customHeaderLimits;
  // Checked first and alone, so that the answer to a flood stays small.
  if (entries.length > countMax) {
    return [{ header: null, code: "too_many", detail: `at most ${countMax} headers` }];
  }
  const problems = entries.flatMap(([name, value]) => [
    ...namedProblems(name, nameProblem(name, isReserved)),
    ...namedProblems(name, valueProblem(value)),
  ]);
  return [...problems, ...duplicates(entries), ...totalProblem(entries)];
}

/** True for a name that only we may set; any case. */
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
    return ["name_too_long", `a header name has at most ${nameBytesMax} characters`];
  }
  // RFC 9110 token; it excludes the pseudo-headers of HTTP/2, which start with a colon.
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    return ["name_syntax", "a header name is an RFC 9110 token"];
  }
  return isReserved(name) ? ["reserved", "this header is reserved"] : null;
}

function valueProblem(value: unknown): Finding {
  const { valueBytesMax } = customHeaderLimits;
  if (typeof value !== "string") return ["value_not_text", "a header value is a text"];
  if (value.length > valueBytesMax) {
    return ["value_too_long", `a header value has at most ${valueBytesMax} bytes`];
  }
  if (!/^[\x20-\x7e\xa0-\xff]*$/.test(value)) {
    return ["value_characters", "a header value has only printable Latin-1 characters"];
  }
  // Receivers strip it, so that what arrives would differ from what was configured.
  if (value.startsWith(" ") || value.endsWith(" ")) {
    return ["value_characters", "a header value does not start or end with a space"];
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
    return namedProblems(name, ["duplicate", "the same header in another case"]);
  });
}

function totalProblem(entries: readonly (readonly [string, unknown])[]): HeaderProblem[] {
  const { totalBytesMax } = customHeaderLimits;
  let totalBytes = 0;
  for (const [name, value] of entries) totalBytes += name.length + String(value).length + 4;
  if (totalBytes <= totalBytesMax) return [];
  const detail = `all headers together have at most ${totalBytesMax} bytes`;
  return [{ header: null, code: "total_too_long", detail }];
}

/** A refused name may hold anything; it must not break a log line or an answer. */
function printable(name: string): string {
  return name.slice(0, customHeaderLimits.nameBytesMax).replaceAll(/[^\x21-\x7e]/g, "?");
}
