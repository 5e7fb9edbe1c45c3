/**
 * Checks the raw bytes of a JSON text in one pass before `JSON.parse`. Parsing is linear in bytes, but its allocations
 * are not: sixteen megabytes of `{},` become millions of objects, and deep nesting overflows the stack of any code that
 * walks the result. Both are refused here at about a nanosecond per byte.
 */

import { Buffer, isUtf8 } from "node:buffer";
import { InvalidRequestError, PosthornError } from "../errors.ts";
import { elementsOf, endOfJsonValue, endOfString, membersOf, skipSpace, textOf } from "./members.ts";

export interface JsonBounds {
  readonly depthMax: number;
  /** Maximum number of commas plus opening brackets, which equals the number of values or is slightly higher. */
  readonly valuesMax: number;
  /**
   * `kept`: the original text is used, so numbers may exceed the range of a double. Otherwise, such a number would
   * become null in all output that is written from the value.
   */
  readonly hugeNumbers?: "kept";
}

export const defaultBounds: JsonBounds = { depthMax: 64, valuesMax: 10_000 };

/** How error messages refer to a text and its field. */
export interface JsonName {
  readonly what: string;
  readonly field: string;
}

const body: JsonName = { what: "The body", field: "" };

/** Parses the text. Throws `malformed_json`, `payload_too_large` or `invalid_request`. */
export function parseJson(raw: Buffer, bounds: JsonBounds, name: JsonName = body): unknown {
  const { what, field } = name;
  const scan = scanJson(raw, bounds);
  if (scan.finding === "too_deep")
    throw new InvalidRequestError(`${what} is nested too deeply.`, [{ field, message: tooDeep(bounds) }]);
  if (scan.finding === "too_many") {
    throw new PosthornError("payload_too_large", `${what} has more than ${bounds.valuesMax} values.`);
  }
  // Decoding would silently replace invalid UTF-8.
  if (!isUtf8(raw)) throw new PosthornError("malformed_json", `${what} is not valid UTF-8.`);
  const value = parse(raw, what);
  if (countNames(value) !== scan.names) refuseRepeated(raw, name);
  if (scan.finding === "look_closer") {
    refuseHarmful(value, field, what, bounds.hugeNumbers === "kept");
  }
  return value;
}

/**
 * Parses the text, and validates the elements of the member `list` one by one: each invalid element is replaced by a
 * PosthornError that says why it is invalid. Throws like `parseJson` if there are problems outside the list, if the
 * JSON is invalid, or if there are too many values in total.
 */
export function parseElements(raw: Buffer, bounds: JsonBounds, list: string): unknown {
  try {
    return parseJson(raw, bounds);
  } catch (error) {
    const { finding } = scanJson(raw, { ...bounds, depthMax: Number.POSITIVE_INFINITY });
    if (!(error instanceof PosthornError) || finding === "too_many" || !isJson(raw)) throw error;
    const start = membersOf(raw, skipSpace(raw, 0)).get(list)?.start;
    if (start === undefined || raw[start] !== openSquare) throw error;
    const end = endOfJsonValue(raw, start);
    // The text without the elements. If it has a problem, the whole text is refused.
    const around = Buffer.concat([raw.subarray(0, start), Buffer.from("[]"), raw.subarray(end)]);
    const value = parseJson(around, bounds) as Record<string, unknown>;
    value[list] = elementsOf(raw, start).map((place) => {
      try {
        return parseJson(raw.subarray(place.start, place.end), bounds, { what: "The event", field: "" });
      } catch (refused) {
        if (refused instanceof PosthornError) return refused;
        throw refused;
      }
    });
    return value;
  }
}

/** Invalid UTF-8 is replaced here, and refused by the check of the element itself. */
function isJson(raw: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(raw.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/**
 * Parsers may pick either of two members with the same name (RFC 8259, section 4), so filters could see one and the
 * receiver the other.
 */
function refuseRepeated(raw: Uint8Array, { what, field }: JsonName): never {
  const path = repeatedName(raw);
  throw new InvalidRequestError(`${what} repeats a name within an object.`, [
    {
      field: (field === "" ? path : `${field}.${path}`).slice(0, fieldLengthMax),
      message: "is repeated in its object",
    },
  ]);
}

function tooDeep({ depthMax }: JsonBounds): string {
  return `must not be nested more than ${depthMax} levels deep`;
}

function parse(raw: Buffer, what: string): unknown {
  try {
    return JSON.parse(raw.toString("utf8"));
  } catch (error) {
    throw new PosthornError("malformed_json", `${what} is not valid JSON${describeSyntaxError(error)}`);
  }
}

/** Contains only the position. The engine's message quotes the text, which may contain secrets. */
function describeSyntaxError(error: unknown): string {
  const position = /at position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  return position === undefined
    ? ": it ends too early or contains something unexpected."
    : ` at character ${position}.`;
}

const quote = 0x22;
const plus = 0x2b;
const colon = 0x3a;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const digitZero = 0x30;
const digitNine = 0x39;
const openSquare = 0x5b;
const backslash = 0x5c;
const closeSquare = 0x5d;
const underscore = 0x5f;
const capitalE = 0x45;
const letterC = 0x63;
const letterE = 0x65;
const letterU = 0x75;
const openCurly = 0x7b;
const closeCurly = 0x7d;

/** A number without an exponent needs 309 digits to be infinite. */
const plainNumberLengthMax = 300;

const protoLength = "__proto__".length;
const constructorLength = "constructor".length;

export interface JsonScan {
  /**
   * `look_closer`: a string may spell a name that pollutes prototypes, or a number may be infinite. None of the
   * findings implies that the text is valid.
   */
  readonly finding: "fine" | "look_closer" | "too_deep" | "too_many";
  /** Number of members of all objects in a valid text, including repeated names. */
  readonly names: number;
}

export function scanJson(raw: Uint8Array, bounds: JsonBounds): JsonScan {
  let depth = 0;
  let values = 1;
  let names = 0;
  let suspicious = false;
  for (let index = 0; index < raw.length; index++) {
    const byte = raw[index] as number;
    if (byte === quote) {
      const end = closingQuote(raw, index + 1);
      if (end < 0 || maySpellAttack(end - index - 1, raw[index + 1])) suspicious = true;
      index = Math.abs(end);
    } else if (byte === comma) {
      values++;
    } else if (byte === colon) {
      names++;
    } else if (byte >= digitZero && byte <= digitNine) {
      const end = endOfNumber(raw, index);
      if (end < 0) suspicious = true;
      index = Math.abs(end) - 1;
    } else if (byte === openCurly || byte === openSquare) {
      values++;
      if (++depth > bounds.depthMax) return { finding: "too_deep", names };
      if (values > bounds.valuesMax) return { finding: "too_many", names };
    } else if (byte === closeCurly || byte === closeSquare) {
      depth--;
    }
  }
  if (values > bounds.valuesMax) return { finding: "too_many", names };
  return { finding: suspicious ? "look_closer" : "fine", names };
}

function maySpellAttack(length: number, initial: number | undefined): boolean {
  if (length === protoLength) return initial === underscore;
  return length === constructorLength && initial === letterC;
}

/** Index after the number; negated if the number may be infinite. */
function endOfNumber(raw: Uint8Array, start: number): number {
  let hasExponent = false;
  let index = start;
  for (; index < raw.length; index++) {
    const byte = raw[index] as number;
    if (byte === letterE || byte === capitalE) hasExponent = true;
    else if (!(byte >= digitZero && byte <= digitNine) && byte !== dot && byte !== plus && byte !== minus)
      break;
  }
  return hasExponent || index - start > plainNumberLengthMax ? -index : index;
}

/** Index of the closing quote; negated if the string contains a `\u` escape, which could spell any name. */
function closingQuote(raw: Uint8Array, start: number): number {
  let escaped = false;
  let index = start;
  for (; index < raw.length; index++) {
    const byte = raw[index];
    if (byte === quote) break;
    if (byte === backslash && raw[++index] === letterU) escaped = true;
  }
  return escaped ? -index : index;
}

/**
 * The scan has already limited the depth. `constructor` alone is an ordinary name, but with a `prototype` inside it is
 * an attack.
 */
function refuseHarmful(value: unknown, path: string, what: string, hugeNumbersAllowed: boolean): void {
  if (!hugeNumbersAllowed && (value === Infinity || value === -Infinity)) {
    throw new InvalidRequestError(`${what} contains a number that is too large.`, [
      { field: path.slice(0, fieldLengthMax), message: "is too large" },
    ]);
  }
  if (typeof value !== "object" || value === null) return;
  const isList = Array.isArray(value);
  const prefix = path === "" ? "" : `${path}.`;
  for (const [name, child] of Object.entries(value)) {
    const field = isList ? `${path}[${name}]` : `${prefix}${name}`;
    const isAttack = name === "__proto__" || (name === "constructor" && hasPrototype(child));
    if (isAttack) {
      throw new InvalidRequestError(`${what} contains a name that is not allowed.`, [
        { field: field.slice(0, fieldLengthMax), message: "is a reserved name" },
      ]);
    }
    refuseHarmful(child, field, what, hugeNumbersAllowed);
  }
}

const fieldLengthMax = 200;

function hasPrototype(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}

/**
 * Finds names that are repeated within one object. `JSON.parse` silently keeps only the last one. Repetition is
 * detected by counting, because the text then has more names than the value. Only in that case is the text scanned for
 * the repeated name.
 */

/** The number of members of all objects in a parsed value. */
function countNames(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let names = 0;
  if (Array.isArray(value)) {
    for (const element of value as readonly unknown[]) names += countNames(element);
    return names;
  }
  for (const name in value) names += 1 + countNames((value as Readonly<Record<string, unknown>>)[name]);
  return names;
}

/** An object or array that contains the current byte. */
interface Level {
  /** The names found so far; null for an array. */
  readonly names: Set<string> | null;
  /** The name of the current member, or the index of the current element. */
  at: string | number;
}

/** Path of the first repeated name in a valid JSON text; empty if there is none. One pass. */
export function repeatedName(json: Uint8Array): string {
  const levels: Level[] = [];
  for (let index = 0; index < json.length; index += 1) {
    const level = levels.at(-1);
    switch (json[index]) {
      case openBrace:
        levels.push({ names: new Set(), at: "" });
        break;
      case openBracket:
        levels.push({ names: null, at: 0 });
        break;
      case closeBrace:
      case closeBracket:
        levels.pop();
        break;
      case comma:
        if (typeof level?.at === "number") level.at += 1;
        break;
      case quote: {
        const end = endOfString(json, index) + 1;
        const names = level?.names ?? null;
        if (level !== undefined && names !== null && json[skipSpace(json, end)] === colon) {
          level.at = JSON.parse(textOf(json, { start: index, end })) as string;
          if (names.has(level.at)) return pathOf(levels);
          names.add(level.at);
        }
        index = end - 1;
        break;
      }
      default:
        break;
    }
  }
  return "";
}

/** For example `data.lines[2].id`. */
function pathOf(levels: readonly Level[]): string {
  return levels
    .map(({ at }, depth) => (typeof at === "number" ? `[${at}]` : `${depth === 0 ? "" : "."}${at}`))
    .join("");
}

const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
