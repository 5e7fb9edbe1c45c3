/** The location of a value in a message, as data of a preset or of an endpoint's configuration. */
import { isRawNumber, parseCanonical, wholeNumberText } from "../../domain/json/lossless.ts";
import { type ReceivedMessage, queryOf } from "../message/message.ts";
import { textOf } from "../providers/reading.ts";

export type ValueSource =
  | { readonly header: string }
  /** A JSON pointer (RFC 6901) into the body, such as `/data/id`. */
  | { readonly pointer: string }
  | { readonly query: string }
  /** The same value for every message. */
  | { readonly fixed: string };

const lengthMax = 255;

/**
 * Reads values of one message. Only pass authentic bytes, because the body may be parsed, at most once per message. If
 * the caller has already parsed the body with {@link readJsonBody}, `parsedBody` provides the result.
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

/** The first value that exists. */
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

/** The value at a JSON pointer; undefined if there is none. */
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
 * Parses a body as JSON in UTF-8, regardless of its media type (RFC 8259, section 8.1), and ignores a byte order mark.
 * If a member is repeated, the last one wins; numbers are compared with all their digits. Returns undefined for a body
 * that is not JSON.
 */
export function readJsonBody(body: Uint8Array): unknown {
  try {
    return parseCanonical(textOf(body));
  } catch {
    return undefined;
  }
}

/** Strings and whole numbers of 1 to 255 characters without control characters; null for all other values. */
function usable(value: unknown): string | null {
  const text = typeof value === "number" || isRawNumber(value) ? wholeNumberText(value, lengthMax) : value;
  if (typeof text !== "string" || text === "" || text.length > lengthMax) return null;
  return /\p{Cc}/u.test(text) ? null : text;
}
