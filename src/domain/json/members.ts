/**
 * Finds the members of objects in the bytes of a JSON text, so that a value can be copied as it was written. The text
 * must be valid JSON, which guard.ts ensures.
 */
import { Buffer } from "node:buffer";
import { endOfJsonValue, endOfString } from "./value-end.ts";

/** The position of a value, without surrounding white space. */
export interface Span {
  readonly start: number;
  /** Exclusive. */
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

/** The index after the comma that follows a value, or of the bracket that ends the list. */
function nextEntry(json: Uint8Array, valueEnd: number): number {
  const index = skipSpace(json, valueEnd);
  return json[index] === comma ? skipSpace(json, index + 1) : index;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

const comma = 0x2c;
const closeBracket = 0x5d;
const closeBrace = 0x7d;
