import { encodeBase64 } from "../base64.ts";
import type { BareItem, Dictionary, InnerList, Item, List, Member, Parameters } from "./structured-fields.ts";

/** Serialises Structured Fields (RFC 9651, section 4.1) in the canonical form. */

/** A value that has no textual form. This is a bug in the caller. */
export class UnserializableFieldError extends Error {
  override readonly name = "UnserializableFieldError";
}

export function serializeList(list: List): string {
  return list.map(serializeMember).join(", ");
}

export function serializeDictionary(dictionary: Dictionary): string {
  return Array.from(dictionary, ([key, member]) => serializeEntry(key, member)).join(", ");
}

export function serializeMember(member: Member): string {
  return member.kind === "inner_list" ? serializeInnerList(member) : serializeItem(member);
}

export function serializeItem({ value, parameters }: Item): string {
  return serializeBareItem(value) + serializeParameters(parameters);
}

function serializeInnerList({ items, parameters }: InnerList): string {
  return `(${items.map(serializeItem).join(" ")})${serializeParameters(parameters)}`;
}

function serializeEntry(key: string, member: Member): string {
  const isTrue = member.kind === "item" && member.value.kind === "boolean" && member.value.value;
  if (isTrue) return checkedKey(key) + serializeParameters(member.parameters);
  return `${checkedKey(key)}=${serializeMember(member)}`;
}

/** Parameters, each preceded by a semicolon. */
export function serializeParameters(parameters: Parameters): string {
  let text = "";
  for (const [key, value] of parameters) {
    text += `;${checkedKey(key)}`;
    if (value.kind !== "boolean" || !value.value) text += `=${serializeBareItem(value)}`;
  }
  return text;
}

function serializeBareItem(item: BareItem): string {
  switch (item.kind) {
    case "integer":
      return serializeInteger(item.value);
    case "decimal":
      return serializeDecimal(item.value);
    case "string":
      return serializeString(item.value);
    case "token":
      return checked(item.value, /^[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*$/);
    case "bytes":
      return `:${encodeBase64(item.value)}:`;
    case "boolean":
      return item.value ? "?1" : "?0";
    case "date":
      return `@${serializeInteger(item.value)}`;
    default:
      return serializeDisplayString(item.value);
  }
}

/** A String: printable ASCII in quotes, with `"` and `\` escaped. Throws {@link UnserializableFieldError}. */
export function serializeString(text: string): string {
  const plain = checked(text, /^[\x20-\x7e]*$/);
  return /["\\]/.test(plain) ? `"${plain.replaceAll(/["\\]/g, "\\$&")}"` : `"${plain}"`;
}

function serializeInteger(value: number): string {
  if (!Number.isInteger(value) || Math.abs(value) > 999_999_999_999_999) throw unserializable("integer");
  return String(value);
}

/** Up to three fractional digits, halves rounded to even, at least one digit written. */
function serializeDecimal(value: number): string {
  const thousandths = value * 1000;
  const floor = Math.floor(thousandths);
  const isHalf = thousandths - floor === 0.5;
  const rounded = isHalf && floor % 2 === 0 ? floor : Math.round(thousandths);
  if (!(Math.abs(rounded) <= 999_999_999_999_999)) throw unserializable("decimal");
  const digits = String(Math.abs(rounded)).padStart(4, "0");
  const fraction = digits.slice(-3).replace(/0{1,2}$/, "");
  return `${rounded < 0 ? "-" : ""}${digits.slice(0, -3)}.${fraction}`;
}

function serializeDisplayString(text: string): string {
  if (!text.isWellFormed()) throw unserializable("display string");
  const escaped = text.replaceAll(/[^ !#$&-~]/gu, percentEncoded);
  return `%"${escaped}"`;
}

function percentEncoded(character: string): string {
  let text = "";
  for (const byte of new TextEncoder().encode(character)) text += `%${byte.toString(16).padStart(2, "0")}`;
  return text;
}

function checkedKey(key: string): string {
  return checked(key, /^[a-z*][a-z0-9_\-.*]*$/);
}

function checked(text: string, pattern: RegExp): string {
  if (!pattern.test(text)) throw unserializable("text");
  return text;
}

function unserializable(what: string): UnserializableFieldError {
  return new UnserializableFieldError(`this ${what} cannot be written as a structured field`);
}
