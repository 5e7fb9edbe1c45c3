/**
 * One pass over the raw bytes of a body before `JSON.parse` sees them. Parsing is linear in bytes, but what it
 * allocates is not: sixteen megabytes of `{},` become millions of objects, and deep nesting overflows the stack of
 * whatever walks the result later. Both are refused here at about a nanosecond a byte.
 */
import { isUtf8 } from "node:buffer";
import { InvalidRequestError, PosthornError } from "../core/errors.ts";

export interface JsonBounds {
  readonly depthMax: number;
  /** Counts commas and opening brackets, which is the number of values or a few more. */
  readonly valuesMax: number;
}

export const defaultBounds: JsonBounds = { depthMax: 64, valuesMax: 10_000 };

/** The body as a value. Throws `malformed_json`, `payload_too_large` or `invalid_request`. */
export function parseJsonBody(raw: Buffer, bounds: JsonBounds): unknown {
  const finding = scanJson(raw, bounds);
  if (finding === "too_deep")
    throw new InvalidRequestError("The body is nested too deeply.", [tooDeep(bounds)]);
  if (finding === "too_many") {
    throw new PosthornError("payload_too_large", `The body has more than ${bounds.valuesMax} values.`);
  }
  // Decoding would silently replace what is not UTF-8.
  if (!isUtf8(raw)) throw new PosthornError("malformed_json", "The body is not valid UTF-8.");
  const value = parse(raw.toString("utf8"));
  if (finding === "look_closer") refusePrototypes(value, "");
  return value;
}

function tooDeep(bounds: JsonBounds): { readonly field: string; readonly message: string } {
  return { field: "", message: `must not be nested more than ${bounds.depthMax} levels deep` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PosthornError("malformed_json", describeSyntaxError(error));
  }
}

/** Only the position: the engine's message quotes the body, which may hold secrets. */
function describeSyntaxError(error: unknown): string {
  const position = /at position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  if (position === undefined)
    return "The body is not valid JSON: it ends too early or has something unexpected.";
  return `The body is not valid JSON at character ${position}.`;
}

const quote = 0x22;
const comma = 0x2c;
const openSquare = 0x5b;
const backslash = 0x5c;
const closeSquare = 0x5d;
const underscore = 0x5f;
const letterC = 0x63;
const letterU = 0x75;
const openCurly = 0x7b;
const closeCurly = 0x7d;

const protoLength = "__proto__".length;
const constructorLength = "constructor".length;

export type JsonFinding = "fine" | "look_closer" | "too_deep" | "too_many";

/** `look_closer`: some string may spell a name that poisons prototypes. Says nothing about validity. */
export function scanJson(raw: Uint8Array, bounds: JsonBounds): JsonFinding {
  let depth = 0;
  let values = 1;
  let suspicious = false;
  for (let index = 0; index < raw.length; index++) {
    const byte = raw[index];
    if (byte === quote) {
      const end = endOfString(raw, index + 1);
      const length = Math.abs(end) - index - 1;
      const initial = raw[index + 1];
      if (end < 0) suspicious = true;
      else if (length === protoLength && initial === underscore) suspicious = true;
      else if (length === constructorLength && initial === letterC) suspicious = true;
      index = Math.abs(end);
    } else if (byte === comma) {
      values++;
    } else if (byte === openCurly || byte === openSquare) {
      values++;
      if (++depth > bounds.depthMax) return "too_deep";
      if (values > bounds.valuesMax) return "too_many";
    } else if (byte === closeCurly || byte === closeSquare) {
      depth--;
    }
  }
  if (values > bounds.valuesMax) return "too_many";
  return suspicious ? "look_closer" : "fine";
}

/** Index of the closing quote, negated when the string has a `\u` escape, which could spell anything. */
function endOfString(raw: Uint8Array, start: number): number {
  let escaped = false;
  let index = start;
  for (; index < raw.length; index++) {
    const byte = raw[index];
    if (byte === quote) break;
    if (byte === backslash && raw[++index] === letterU) escaped = true;
  }
  return escaped ? -index : index;
}

/** Depth is bounded by the scan. `constructor` alone is an ordinary name; with a `prototype` inside it is an attack. */
function refusePrototypes(value: unknown, path: string): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, child] of Object.entries(value)) {
    const field = path === "" ? name : `${path}.${name}`;
    const isAttack = name === "__proto__" || (name === "constructor" && hasPrototype(child));
    if (isAttack) {
      throw new InvalidRequestError("The body has a name that is not allowed.", [
        { field: field.slice(0, 200), message: "is a reserved name" },
      ]);
    }
    refusePrototypes(child, field);
  }
}

function hasPrototype(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}
