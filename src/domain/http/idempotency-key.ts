/**
 * `Idempotency-Key` (IETF draft, section 2): a Structured Field Item (RFC 8941, RFC 9651) whose value is a String.
 *
 * We always send the quoted form. Several documents show bare values, which are not Strings, so parsing has a lenient
 * mode for them. A key is validated completely before any lookup.
 */
import { parseItem } from "./structured-fields.ts";

/** Maximum characters of a key, without quotes and escapes. */
const idempotencyKeyLengthMax = 255;

/**
 * Maximum length of a raw value. Longer values are refused without parsing; the longest valid key, fully escaped, takes
 * 512 characters.
 */
const rawLengthMax = 1024;

/** Stable codes for a header value without a usable key. */
const keyMalformedReasons = [
  "empty",
  "too_long",
  "not_a_string",
  "bad_character",
  "bad_escape",
  "unterminated",
  "bad_parameters",
  "trailing_characters",
] as const;
export type KeyMalformedReason = (typeof keyMalformedReasons)[number];

export type ParsedKey =
  | {
      readonly kind: "ok";
      readonly key: string;
      /** `bare` occurs only in lenient mode. Both forms of the same characters are the same key. */
      readonly form: "string" | "bare";
    }
  | { readonly kind: "malformed"; readonly reason: KeyMalformedReason };

/** A key that cannot be sent in a header. Validate with {@link isIdempotencyKey} first. */
export class UnserializableKeyError extends Error {
  override readonly name = "UnserializableKeyError";
  readonly code = "idempotency_key_unserializable";
}

/** True for 1 to 255 printable ASCII characters (0x20 to 0x7E). */
export function isIdempotencyKey(text: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(text);
}

/** The header value of a key: quoted, with `"` and `\` escaped. Throws {@link UnserializableKeyError}. */
export function serializeKey(key: string): string {
  if (!isIdempotencyKey(key)) {
    throw new UnserializableKeyError("an idempotency key has 1 to 255 printable ASCII characters");
  }
  return `"${key.replaceAll(/["\\]/g, "\\$&")}"`;
}

/**
 * Parses a raw header value. Parameters after the String are validated and ignored, as the RFC prescribes for unknown
 * ones. `lenient` also accepts a bare `[A-Za-z0-9._~:/+=-]{1,255}`.
 */
export function parseKeyHeader(raw: string, lenient = false): ParsedKey {
  if (raw.length > rawLengthMax) return malformed("too_long");
  const text = raw.replaceAll(/^ +| +$/g, "");
  if (text === "") return malformed("empty");
  if (text.startsWith('"')) return parseStringItem(text);
  if (lenient && /^[A-Za-z0-9._~:/+=-]+$/.test(text)) return bareKey(text);
  return malformed("not_a_string");
}

function bareKey(text: string): ParsedKey {
  if (text.length > idempotencyKeyLengthMax) return malformed("too_long");
  return { kind: "ok", key: text, form: "bare" };
}

function parseStringItem(text: string): ParsedKey {
  const scanned = scanString(text);
  if (scanned.kind === "malformed") return scanned;
  const { key, end } = scanned;
  const rest = text.slice(end);
  if (rest !== "" && !rest.startsWith(";")) return malformed("trailing_characters");
  if (parseItem(text).kind === "malformed") return malformed("bad_parameters");
  if (key === "") return malformed("empty");
  if (key.length > idempotencyKeyLengthMax) return malformed("too_long");
  return { kind: "ok", key, form: "string" };
}

type Scanned =
  | { readonly kind: "scanned"; readonly key: string; readonly end: number }
  | { readonly kind: "malformed"; readonly reason: KeyMalformedReason };

/** RFC 9651, section 4.2.5. `text` starts with a quote; `end` is the position after the closing one. */
function scanString(text: string): Scanned {
  let key = "";
  for (let index = 1; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === '"') return { kind: "scanned", key, end: index + 1 };
    if (character === "\\") {
      index++;
      const escaped = text.charAt(index);
      if (escaped === "") return malformed("unterminated");
      if (escaped !== '"' && escaped !== "\\") return malformed("bad_escape");
      key += escaped;
    } else if (character < " " || character > "~") {
      return malformed("bad_character");
    } else {
      key += character;
    }
  }
  return malformed("unterminated");
}

function malformed(reason: KeyMalformedReason): {
  readonly kind: "malformed";
  readonly reason: KeyMalformedReason;
} {
  return { kind: "malformed", reason };
}

/** The problem bodies of the Idempotency-Key draft, section "Error Handling". `type` links to the documentation. */
export interface IdempotencyProblem {
  readonly status: 400 | 409 | 422;
  readonly title: string;
  readonly detail: string;
}

export const idempotencyProblems = {
  missing: {
    status: 400,
    title: "Idempotency-Key is missing",
    detail: "This operation is idempotent and it requires correct usage of Idempotency Key.",
  },
  reused: {
    status: 422,
    title: "Idempotency-Key is already used",
    detail:
      "This operation is idempotent and it requires correct usage of Idempotency Key. Idempotency Key MUST not be reused across different payloads of this operation.",
  },
  outstanding: {
    status: 409,
    title: "A request is outstanding for this Idempotency-Key",
    detail:
      "A request with the same Idempotency-Key for the same operation is being processed or is outstanding.",
  },
} as const satisfies Readonly<Record<string, IdempotencyProblem>>;
