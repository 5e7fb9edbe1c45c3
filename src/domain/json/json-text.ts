/**
 * JSON exactly as its author wrote it. The text is stored, signed and sent; filters and schemas use the value. The
 * value alone is not enough, because parsing rounds numbers and loses the spelling of numbers, names and white space.
 */

import { Buffer } from "node:buffer";
import { PosthornError } from "../errors.ts";
import { type JsonBounds, type JsonName, parseJson } from "./guard.ts";

export class JsonText {
  /** Without surrounding white space. */
  readonly text: string;
  readonly value: unknown;

  /** Use this only with text that was parsed after the checks of guard.ts, or call {@link readJsonText}. */
  constructor(parts: Pick<JsonText, "text" | "value">) {
    this.text = parts.text;
    this.value = parts.value;
  }
}

/** Parses an unchecked text. Throws the errors of guard.ts. */
export function readJsonText(text: string, bounds: JsonBounds, name: JsonName): JsonText {
  // In UTF-8, a lone surrogate would silently become another character.
  if (!text.isWellFormed())
    throw new PosthornError("malformed_json", `${name.what} contains half of a surrogate pair.`);
  return new JsonText({ text: text.trim(), value: parseJson(Buffer.from(text), bounds, name) });
}

/**
 * The text without white space between tokens. Everything else is preserved, such as the spelling of numbers and
 * escapes, and the order of members. Two texts with the same result have equal values, and texts with different numbers
 * never have the same result.
 */
export function minified(json: string): string {
  let kept = "";
  let from = 0;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === 0x22) {
      index = endOfText(json, index);
    } else if (isSpace(code)) {
      kept += json.slice(from, index);
      while (isSpace(json.charCodeAt(index + 1))) index += 1;
      from = index + 1;
    }
  }
  return from === 0 ? json : kept + json.slice(from);
}

/** The index of the quote that closes the string at `start`. */
function endOfText(json: string, start: number): number {
  let index = start + 1;
  while (index < json.length && json[index] !== '"') index += json[index] === "\\" ? 2 : 1;
  return index;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The value of a JSON text; undefined, which is not a JSON value, for any other text. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
