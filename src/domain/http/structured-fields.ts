import { decodeBase64, encodeBase64 } from "../base64.ts";

/** Reads a string from left to right. If a method fails, `position` is where it failed. */
class Scanner {
  readonly text: string;
  position = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length;
  }

  /** The next character; empty at the end. */
  peek(): string {
    return this.text.charAt(this.position);
  }

  /** Consumes `character` if it is next. */
  take(character: string): boolean {
    if (this.peek() !== character) return false;
    this.position += 1;
    return true;
  }

  /**
   * Consumes and returns what `pattern` matches at the current position; null if it does not match. The pattern must be
   * sticky.
   */
  match(pattern: RegExp): string | null {
    pattern.lastIndex = this.position;
    const text = pattern.exec(this.text)?.[0];
    if (text === undefined) return null;
    this.position += text.length;
    return text;
  }

  skipSpaces(): void {
    while (this.take(" "));
  }

  /** Optional white space between members: spaces and tabs. */
  skipOptionalWhiteSpace(): void {
    while (this.take(" ") || this.take("\t"));
  }
}

/**
 * Structured Field Values (RFC 9651, which includes RFC 8941) as data. Every value includes its type, because most uses
 * accept only one type: `"a"` and `a` are different.
 */
export type BareItem =
  | { readonly kind: "integer"; readonly value: number }
  | { readonly kind: "decimal"; readonly value: number }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "token"; readonly value: string }
  | { readonly kind: "bytes"; readonly value: Uint8Array }
  | { readonly kind: "boolean"; readonly value: boolean }
  /** Unix seconds. */
  | { readonly kind: "date"; readonly value: number }
  | { readonly kind: "display_string"; readonly value: string };

/** In the order in which the keys first appeared. */
export type Parameters = ReadonlyMap<string, BareItem>;

export interface Item {
  readonly kind: "item";
  readonly value: BareItem;
  readonly parameters: Parameters;
}

export interface InnerList {
  readonly kind: "inner_list";
  readonly items: readonly Item[];
  readonly parameters: Parameters;
}

export type Member = Item | InnerList;
export type List = readonly Member[];

/** In the order in which the keys first appeared; for repeated keys the last value wins. */
export type Dictionary = ReadonlyMap<string, Member>;

const numberPattern = /-?\d{1,15}(?:\.\d*)?/y;
const stringPattern = /"(?:[ !#-[\]-~]|\\["\\])*"/y;
const tokenPattern = /[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/y;
const bytesPattern = /:[A-Za-z0-9+/=]*:/y;
const displayStringPattern = /%"(?:[ !#$&-~]|%[0-9a-f]{2})*"/y;

/** One bare item (RFC 9651, section 4.2.3.1); null if there is none. */
function parseBareItem(scanner: Scanner): BareItem | null {
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
  // Without this check, a sixteenth digit would be parsed as the start of the next token.
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

// A strict parser for Structured Fields (RFC 9651, which includes RFC 8941). One violation makes the whole field
// malformed, as the RFC requires. The time is linear in the length, which is limited.

/** Maximum characters of a field. Node applies the same limit to all headers together. */
const fieldLengthMax = 16_384;

export type Parsed<T> =
  | { readonly kind: "parsed"; readonly value: T }
  /** `position` is the character offset where parsing stopped. */
  | { readonly kind: "malformed"; readonly position: number };

export function parseItem(text: string): Parsed<Item> {
  return parseField(text, readItem);
}

export function parseList(text: string): Parsed<List> {
  return parseField(text, readList);
}

export function parseDictionary(text: string): Parsed<Dictionary> {
  return parseField(text, readDictionary);
}

function parseField<T>(text: string, read: (scanner: Scanner) => T | null): Parsed<T> {
  if (text.length > fieldLengthMax) return { kind: "malformed", position: fieldLengthMax };
  const scanner = new Scanner(text);
  scanner.skipSpaces();
  const value = read(scanner);
  scanner.skipSpaces();
  if (value === null || !scanner.isAtEnd) return { kind: "malformed", position: scanner.position };
  return { kind: "parsed", value };
}

function readList(scanner: Scanner): List | null {
  const members: Member[] = [];
  const isRead = readMembers(scanner, () => {
    const member = readMember(scanner);
    if (member !== null) members.push(member);
    return member !== null;
  });
  return isRead ? members : null;
}

function readDictionary(scanner: Scanner): Dictionary | null {
  const members = new Map<string, Member>();
  const isRead = readMembers(scanner, () => {
    const key = readKey(scanner);
    if (key === null) return false;
    const member = scanner.take("=") ? readMember(scanner) : readFlag(scanner);
    if (member !== null) members.set(key, member);
    return member !== null;
  });
  return isRead ? members : null;
}

/** Comma-separated members. An empty list is allowed, a trailing comma is not. */
function readMembers(scanner: Scanner, readOne: () => boolean): boolean {
  if (scanner.isAtEnd) return true;
  while (readOne()) {
    scanner.skipOptionalWhiteSpace();
    if (scanner.isAtEnd) return true;
    if (!scanner.take(",")) return false;
    scanner.skipOptionalWhiteSpace();
  }
  return false;
}

function readMember(scanner: Scanner): Member | null {
  return scanner.peek() === "(" ? readInnerList(scanner) : readItem(scanner);
}

/** A key without a value means true. */
function readFlag(scanner: Scanner): Item | null {
  const parameters = readParameters(scanner);
  return parameters === null ? null : { kind: "item", value: { kind: "boolean", value: true }, parameters };
}

function readItem(scanner: Scanner): Item | null {
  const value = parseBareItem(scanner);
  if (value === null) return null;
  const parameters = readParameters(scanner);
  return parameters === null ? null : { kind: "item", value, parameters };
}

function readInnerList(scanner: Scanner): InnerList | null {
  scanner.take("(");
  const items: Item[] = [];
  for (;;) {
    scanner.skipSpaces();
    if (scanner.take(")")) break;
    const item = readItem(scanner);
    if (item === null || (scanner.peek() !== " " && scanner.peek() !== ")")) return null;
    items.push(item);
  }
  const parameters = readParameters(scanner);
  return parameters === null ? null : { kind: "inner_list", items, parameters };
}

function readParameters(scanner: Scanner): Parameters | null {
  if (scanner.peek() !== ";") return noParameters;
  const parameters = new Map<string, Item["value"]>();
  while (scanner.take(";")) {
    scanner.skipSpaces();
    const key = readKey(scanner);
    if (key === null) return null;
    const value = scanner.take("=") ? parseBareItem(scanner) : ({ kind: "boolean", value: true } as const);
    if (value === null) return null;
    parameters.set(key, value);
  }
  return parameters;
}

const noParameters: Parameters = new Map();
const keyPattern = /[a-z*][a-z0-9_\-.*]*/y;

function readKey(scanner: Scanner): string | null {
  return scanner.match(keyPattern);
}

/** Serialises Structured Fields (RFC 9651, section 4.1) in the canonical form. */

/** A value that has no textual form. Such a value is a bug in the caller. */
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

/** Writes up to three fractional digits, and at least one. Halves are rounded to even. */
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
  if (/\p{Surrogate}/u.test(text)) throw unserializable("display string");
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
