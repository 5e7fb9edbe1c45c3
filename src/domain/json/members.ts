/**
 * Finds the members of objects in the bytes of a JSON text, so that a value can be copied as it was written. The text
 * must be valid JSON, which guard.ts ensures.
 */

import { Buffer } from "node:buffer";

/** The position of a value, without surrounding white space. */
export interface Span {
  readonly start: number;
  /** Index after the value. */
  readonly end: number;
}

/** The members of the object that begins at `start`, by name. For repeated names the last one wins. */
export function membersOf(json: Uint8Array, start: number): ReadonlyMap<string, Span> {
  const members = new Map<string, Span>();
  let index = skipSpace(json, start + 1);
  while (index < json.length && json[index] !== closeBrace) {
    const nameEnd = endOfString(json, index) + 1;
    const name = textOf(json, { start: index, end: nameEnd });
    const valueStart = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = endOfJsonValue(json, valueStart);
    // Without an escape, the name is the text between the quotes.
    members.set(name.includes("\\") ? (JSON.parse(name) as string) : name.slice(1, -1), {
      start: valueStart,
      end,
    });
    index = nextEntry(json, end);
  }
  return members;
}

/** The elements of the array that begins at `start`. */
export function elementsOf(json: Uint8Array, start: number): readonly Span[] {
  const elements: Span[] = [];
  let index = skipSpace(json, start + 1);
  while (index < json.length && json[index] !== closeBracket) {
    const end = endOfJsonValue(json, index);
    elements.push({ start: index, end });
    index = nextEntry(json, end);
  }
  return elements;
}

/** The index of the first byte at or after `index` that is not white space. */
export function skipSpace(json: Uint8Array, index: number): number {
  let at = index;
  while (isSpace(json[at])) at += 1;
  return at;
}

export function textOf(json: Uint8Array, { start, end }: Span): string {
  return Buffer.from(json.buffer, json.byteOffset + start, end - start).toString("utf8");
}

/** The index after the comma that follows a value, or the index of the bracket that ends the list. */
function nextEntry(json: Uint8Array, valueEnd: number): number {
  const index = skipSpace(json, valueEnd);
  return json[index] === comma ? skipSpace(json, index + 1) : index;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/**
 * The end (exclusive) of the JSON value that begins at `start`. The bytes are valid JSON, so only strings and nesting
 * need tracking; nothing is decoded.
 */
export function endOfJsonValue(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let index = start; index < bytes.length; index += 1) {
    switch (bytes[index]) {
      case quote:
        index = endOfString(bytes, index);
        if (depth === 0) return index + 1;
        break;
      case openBrace:
      case openBracket:
        depth += 1;
        break;
      case closeBrace:
      case closeBracket:
        depth -= 1;
        if (depth <= 0) return depth === 0 ? index + 1 : index;
        break;
      case comma:
      case space:
      case tab:
      case lineFeed:
      case carriageReturn:
        if (depth === 0) return index;
        break;
      default:
        break;
    }
  }
  return bytes.length;
}

/** The index of the closing quote of the string that begins at `start`. */
export function endOfString(bytes: Uint8Array, start: number): number {
  const near = Math.min(start + nearMax, bytes.length);
  let index = start + 1;
  while (index < near && bytes[index] !== quote) index += bytes[index] === backslash ? 2 : 1;
  return index < near ? index : farEndOfString(bytes, index);
}

/** A native search is ten times as fast for a long string, but slower for a short one. */
function farEndOfString(bytes: Uint8Array, start: number): number {
  let index = bytes.indexOf(quote, start);
  while (index >= 0 && isEscaped(bytes, start, index)) index = bytes.indexOf(quote, index + 1);
  return index < 0 ? bytes.length : index;
}

/** Whether an odd number of backslashes precedes the quote. An escape does not begin before `start`. */
function isEscaped(bytes: Uint8Array, start: number, index: number): boolean {
  let before = index;
  while (before > start && bytes[before - 1] === backslash) before -= 1;
  return (index - before) % 2 === 1;
}

const nearMax = 48;

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
