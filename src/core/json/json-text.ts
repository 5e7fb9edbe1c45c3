/**
 * JSON as its author wrote it. The text is what is stored, signed and sent; the value is what rules and schemas look at.
 * A value alone does not do: reading rounds numbers and forgets how they, names and white space were written.
 */
import { Buffer } from "node:buffer";
import { PosthornError } from "../errors.ts";
import { type JsonBounds, type JsonName, parseJson } from "./guard.ts";

export class JsonText {
  /** Without white space around it. */
  readonly text: string;
  readonly value: unknown;

  /** For callers that parsed the text themselves, after guard.ts or with {@link readJsonText}. */
  constructor(parts: Pick<JsonText, "text" | "value">) {
    this.text = parts.text;
    this.value = parts.value;
  }
}

/** Reads a text that nobody has looked at. Throws the errors of guard.ts. */
export function readJsonText(text: string, bounds: JsonBounds, name: JsonName): JsonText {
  // As UTF-8, half of a surrogate pair would silently become another character.
  if (!text.isWellFormed())
    throw new PosthornError("malformed_json", `${name.what} has half of a surrogate pair.`);
  return new JsonText({ text: text.trim(), value: parseJson(Buffer.from(text), bounds, name) });
}

/**
 * The text without white space between its tokens. Everything else counts: how a number, an escape or the order of
 * members is written. So two texts with one such form say the same, and texts of different numbers never have one.
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
