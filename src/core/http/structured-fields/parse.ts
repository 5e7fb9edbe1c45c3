/**
 * A strict parser for Structured Fields (RFC 9651, which includes RFC 8941). One violation makes the whole field
 * malformed, as the RFC requires. Time is linear in the length, which is bounded.
 */
import { parseBareItem } from "./bare-item.ts";
import { Scanner } from "./scanner.ts";
import type { Dictionary, InnerList, Item, List, Member, Parameters } from "./values.ts";

/** Maximum characters of a field; Node has the same limit for all headers together. */
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
