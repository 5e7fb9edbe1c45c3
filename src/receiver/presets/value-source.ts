/** Where a value of a message is: what a preset, or the configuration of an endpoint, says as data. */
import { isRawNumber, parseCanonical, wholeNumberText } from "../../core/json/lossless.ts";
import { queryOf } from "../message/message-url.ts";
import type { ReceivedMessage } from "../message/message.ts";
import { textOf } from "../providers/bytes.ts";

export type ValueSource =
  | { readonly header: string }
  /** A JSON pointer (RFC 6901) into the body, such as `/data/id`. */
  | { readonly pointer: string }
  | { readonly query: string }
  /** The same for every message. */
  | { readonly fixed: string };

const lengthMax = 255;

/**
 * Reads values of one message; the body is parsed once at most, so give it authentic bytes. `parsedBody` replaces the
 * reading of the body where the caller has read it already, with {@link readJsonBody}.
 */
export function valueReader(
  message: ReceivedMessage,
  parsedBody: () => unknown = () => readJsonBody(message.body),
): (source: ValueSource) => string | null {
  let body: { readonly value: unknown } | null = null;
  return (source) => {
    if ("fixed" in source) return source.fixed;
    if ("header" in source) return usable(message.headers.get(source.header)?.trim());
    if ("query" in source) return usable(queryOf(message.url).get(source.query));
    body ??= { value: parsedBody() };
    return usable(memberAt(body.value, source.pointer));
  };
}

/** What is found first. */
export function firstValue(
  read: (source: ValueSource) => string | null,
  sources: readonly ValueSource[],
): { readonly value: string; readonly source: ValueSource } | null {
  for (const source of sources) {
    const value = read(source);
    if (value !== null) return { value, source };
  }
  return null;
}

/** The member that a JSON pointer leads to; undefined when there is none. */
export function memberAt(value: unknown, pointer: string): unknown {
  if (pointer === "") return value;
  if (!pointer.startsWith("/")) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((parent, token) => {
      if (typeof parent !== "object" || parent === null || isRawNumber(parent)) return undefined;
      if (!Object.hasOwn(parent, token)) return undefined;
      return (parent as Readonly<Record<string, unknown>>)[token];
    }, value);
}

/**
 * The one reading of a body for everything that looks into it: UTF-8 whatever the media type says (RFC 8259, 8.1), without a
 * byte order mark; of members that stand twice the last one counts; equal numbers are equal, with all of their digits.
 * Undefined for a body that is not JSON.
 */
export function readJsonBody(body: Uint8Array): unknown {
  try {
    return parseCanonical(textOf(body));
  } catch {
    return undefined;
  }
}

/** Texts and whole numbers of 1 to 255 characters without control characters; null for everything else. */
function usable(value: unknown): string | null {
  const text = typeof value === "number" || isRawNumber(value) ? wholeNumberText(value, lengthMax) : value;
  if (typeof text !== "string" || text === "" || text.length > lengthMax) return null;
  return /\p{Cc}/u.test(text) ? null : text;
}
