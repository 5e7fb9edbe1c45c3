import { decodeBase64 } from "../../base64.ts";
import type { Scanner } from "./scanner.ts";
import type { BareItem } from "./values.ts";

const numberPattern = /-?\d{1,15}(?:\.\d*)?/y;
const stringPattern = /"(?:[ !#-[\]-~]|\\["\\])*"/y;
const tokenPattern = /[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/y;
const bytesPattern = /:[A-Za-z0-9+/=]*:/y;
const displayStringPattern = /%"(?:[ !#$&-~]|%[0-9a-f]{2})*"/y;

/** One bare item (RFC 9651, section 4.2.3.1), or null. */
export function parseBareItem(scanner: Scanner): BareItem | null {
  const first = scanner.peek();
  if (first === '"') return parseString(scanner);
  if (first === ":") return parseBytes(scanner);
  if (first === "?") return parseBoolean(scanner);
  if (first === "@") return parseDate(scanner);
  if (first === "%") return parseDisplayString(scanner);
  if (first === "-" || (first >= "0" && first <= "9")) return parseNumber(scanner);
  const token = scanner.match(tokenPattern);
  return token === null ? null : { kind: "token", value: token };
}

function parseNumber(scanner: Scanner): BareItem | null {
  const text = scanner.match(numberPattern);
  // Without this check, a sixteenth digit would be parsed as the text after the number.
  if (text === null || /\d/.test(scanner.peek())) return null;
  const value = Number(text) + 0; // turns -0 into 0
  const point = text.indexOf(".");
  if (point === -1) return { kind: "integer", value };
  const whole = text.startsWith("-") ? point - 1 : point;
  const fraction = text.length - point - 1;
  if (whole > 12 || fraction < 1 || fraction > 3) return null;
  return { kind: "decimal", value };
}

function parseString(scanner: Scanner): BareItem | null {
  const quoted = scanner.match(stringPattern);
  if (quoted === null) return null;
  const inner = quoted.slice(1, -1);
  return { kind: "string", value: inner.includes("\\") ? inner.replaceAll(/\\(.)/g, "$1") : inner };
}

/**
 * Padding is required. RFC 9651 allows parsers to accept values without it, but a single encoding per value is safer.
 */
function parseBytes(scanner: Scanner): BareItem | null {
  const text = scanner.match(bytesPattern);
  const value = text === null ? null : decodeBase64(text.slice(1, -1));
  return value === null ? null : { kind: "bytes", value };
}

function parseBoolean(scanner: Scanner): BareItem | null {
  scanner.take("?");
  if (scanner.take("1")) return { kind: "boolean", value: true };
  return scanner.take("0") ? { kind: "boolean", value: false } : null;
}

function parseDate(scanner: Scanner): BareItem | null {
  scanner.take("@");
  const number = parseNumber(scanner);
  return number?.kind === "integer" ? { kind: "date", value: number.value } : null;
}

function parseDisplayString(scanner: Scanner): BareItem | null {
  const quoted = scanner.match(displayStringPattern);
  if (quoted === null) return null;
  try {
    return { kind: "display_string", value: decodeURIComponent(quoted.slice(2, -1)) };
  } catch {
    return null; // the percent-encoded octets are not UTF-8
  }
}
