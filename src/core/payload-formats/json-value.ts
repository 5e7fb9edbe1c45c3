/**
 * Where the JSON value that begins at `start` ends (exclusive). The bytes are valid JSON that we wrote ourselves, so only
 * strings and nesting have to be followed; nothing is decoded, and the value keeps its bytes.
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
        if (depth === 0) return index;
        break;
      default:
        break;
    }
  }
  return bytes.length;
}

/** The index of the closing quote of the string that begins at `start`. */
function endOfString(bytes: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== quote) index += bytes[index] === backslash ? 2 : 1;
  return index;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
