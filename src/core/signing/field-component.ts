/** Values of fields in a signature base (RFC 9421, section 2.1). */
import { encodeBase64 } from "../base64.ts";
import { type Parsed, parseDictionary, parseItem, parseList } from "../http/structured-fields/parse.ts";
import {
  serializeDictionary,
  serializeItem,
  serializeList,
  serializeMember,
} from "../http/structured-fields/serialize.ts";
import type { Parameters } from "../http/structured-fields/values.ts";
import type { SignedMessage, StructuredFieldType } from "./signed-message.ts";

const knownTypes: Readonly<Record<string, StructuredFieldType>> = {
  "content-digest": "dictionary",
  "repr-digest": "dictionary",
  "signature": "dictionary",
  "signature-input": "dictionary",
  "idempotency-key": "item",
};

/** The value of a field with its component parameters; null if there is none. `name` is in lower case. */
export function fieldValue(message: SignedMessage, name: string, parameters: Parameters): string | null {
  if (name !== name.toLowerCase() || !areKnown(parameters)) return null;
  const linesOf = parameters.has("tr") ? message.trailerLines : message.fieldLines;
  const lines = (linesOf?.(name) ?? []).map(canonicalLine);
  if (lines.length === 0) return null;
  if (parameters.has("bs")) {
    return parameters.has("sf") || parameters.has("key") ? null : lines.map(asBytes).join(", ");
  }
  const value = lines.join(", ");
  const key = parameters.get("key");
  if (key !== undefined) return key.kind === "string" ? dictionaryMember(value, key.value) : null;
  if (!parameters.has("sf")) return value;
  return canonicalField(value, message.structuredFields?.[name] ?? knownTypes[name]);
}

/** `sf`, `bs` and `tr` are flags; `key` names a member. */
function areKnown(parameters: Parameters): boolean {
  for (const [name, { value }] of parameters) {
    const isFlag = name === "sf" || name === "bs" || name === "tr";
    if (isFlag ? value !== true : name !== "key") return false;
  }
  return true;
}

/** Without surrounding white space, and with obsolete line folding undone. */
function canonicalLine(line: string): string {
  return line
    .split(/\r?\n(?=[ \t])/)
    .map(withoutOuterBlanks)
    .join(" ");
}

/** A pattern such as `[ \t]+$` would take quadratic time on runs of blanks. */
function withoutOuterBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function asBytes(line: string): string {
  return `:${encodeBase64(new TextEncoder().encode(line))}:`;
}

function dictionaryMember(value: string, key: string): string | null {
  const parsed = parseDictionary(value);
  const member = parsed.kind === "parsed" ? parsed.value.get(key) : undefined;
  return member === undefined ? null : serializeMember(member);
}

function canonicalField(value: string, type: StructuredFieldType | undefined): string | null {
  switch (type) {
    case "dictionary":
      return reserialized(parseDictionary(value), serializeDictionary);
    case "list":
      return reserialized(parseList(value), serializeList);
    case "item":
      return reserialized(parseItem(value), serializeItem);
    default:
      return null;
  }
}

function reserialized<T>(parsed: Parsed<T>, serialize: (value: T) => string): string | null {
  return parsed.kind === "parsed" ? serialize(parsed.value) : null;
}
