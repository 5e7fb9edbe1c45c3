/** Values of derived components (RFC 9421, section 2.2). */
import type { Parameters } from "../http/structured-fields/values.ts";
import type { SignedMessage } from "./signed-message.ts";

/** The value of a component such as `@method`; null if the message has none or the component is not supported. */
export function derivedValue(message: SignedMessage, name: string, parameters: Parameters): string | null {
  if (name === "@query-param") return queryParameter(message, parameters);
  if (parameters.size > 0) return null;
  if (name === "@method") return message.method ?? null;
  if (name === "@status") return message.status === undefined ? null : String(message.status);
  const target = splitTarget(message.targetUri);
  if (name === "@request-target") {
    return message.requestTarget ?? (target === null ? null : `${target.path}${target.query}`);
  }
  return target === null ? null : targetValue(target, name);
}

interface Target {
  readonly uri: string;
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
  /** Includes the question mark; empty if there is none. */
  readonly query: string;
}

const defaultPorts: Readonly<Record<string, string>> = { http: ":80", https: ":443" };

/** Splits the URI without normalising it: the signature covers the characters that were sent. */
function splitTarget(uri: string | undefined): Target | null {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?$/i.exec(uri ?? "");
  if (uri === undefined || match === null) return null;
  const scheme = (match[1] ?? "").toLowerCase();
  const path = match[3] === undefined || match[3] === "" ? "/" : match[3];
  const authority = normalAuthority(match[2] ?? "", scheme);
  return { uri, scheme, authority, path, query: match[4] ?? "" };
}

/** In lower case, without the default port of the scheme (RFC 9421, section 2.2.3). */
function normalAuthority(authority: string, scheme: string): string {
  const lower = authority.toLowerCase();
  const port = defaultPorts[scheme];
  return port !== undefined && lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

function targetValue(target: Target, name: string): string | null {
  switch (name) {
    case "@target-uri":
      return target.uri;
    case "@authority":
      return target.authority;
    case "@scheme":
      return target.scheme;
    case "@path":
      return target.path;
    case "@query":
      return target.query === "" ? "?" : target.query;
    default:
      return null;
  }
}

/** The only parameter with that name; a repeated name cannot be signed (RFC 9421, section 2.2.8). */
function queryParameter(message: SignedMessage, parameters: Parameters): string | null {
  const name = parameters.get("name");
  const target = splitTarget(message.targetUri);
  if (target === null || name?.kind !== "string" || parameters.size !== 1) return null;
  const values: string[] = [];
  for (const [key, value] of new URLSearchParams(target.query)) {
    if (percentEncoded(key) === name.value) values.push(percentEncoded(value));
  }
  return values.length === 1 ? (values[0] ?? null) : null;
}

/** As `application/x-www-form-urlencoded`, with a space as `%20`. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
