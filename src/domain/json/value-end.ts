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
