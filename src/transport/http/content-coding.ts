import { brotliDecompressSync, constants, gunzipSync, inflateRawSync, inflateSync } from "node:zlib";
import { bodyText, charsetOf } from "../../domain/http/body-text.ts";
import {
  noResponseFields,
  type OutboundRequest,
  responseFieldLengthMax,
  type ResponseFields,
} from "../../ports/transport.ts";

type FieldName = keyof ResponseFields;
type Kept = Partial<Record<FieldName, string>>;

/** Response fields by lower-case name, as undici and node:http2 provide them. */
export type RawFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Stored from every response; `location` and `content-type` have separate conditions. */
const alwaysKept = [
  "sunset",
  "webhook-allowed-origin",
  "webhook-allowed-rate",
  "allow",
  "www-authenticate",
] as const satisfies readonly FieldName[];

/** The fields that the port promises to keep. Ordinary responses have none of these fields and cost no object. */
export function keptFields(raw: RawFields, status: number, request: OutboundRequest): ResponseFields {
  let kept: Kept | null = null;
  for (const name of alwaysKept) if (raw[name] !== undefined) kept = keep(kept, name, raw);
  if (status >= 300 && status < 400) kept = keep(kept, "location", raw);
  if (request.responseBodyBytesMax !== undefined) kept = keep(kept, "content-type", raw);
  return kept ?? noResponseFields;
}

function keep(kept: Kept | null, name: FieldName, raw: RawFields): Kept | null {
  const value = firstOf(raw[name], responseFieldLengthMax);
  if (value === null) return kept;
  const all = kept ?? {};
  all[name] = value;
  return all;
}

/** The first value of a field, truncated to `lengthMax`; null if the field is absent. */
export function firstOf(value: string | readonly string[] | undefined, lengthMax: number): string | null {
  const first = typeof value === "object" ? value[0] : value;
  return first === undefined ? null : first.slice(0, lengthMax);
}

/** More codings would only make us waste CPU time. */
const codingsMax = 2;
/** Limit for one attempt; if a body expands further, only a shorter part of it is decoded. */
const outputBytesMax = 256 * 1024;
const triesMax = 6;
const fieldLengthMax = 200;

interface Decoding {
  readonly bytesMax: number;
  /** Whether the input may be truncated. If false, truncated input is an error. */
  readonly mayBeCut: boolean;
}

type Decode = (input: Uint8Array, how: Decoding) => Buffer;

function zlib({ bytesMax, mayBeCut }: Decoding) {
  return {
    finishFlush: mayBeCut ? constants.Z_SYNC_FLUSH : constants.Z_FINISH,
    maxOutputLength: bytesMax,
  };
}

function brotli({ bytesMax, mayBeCut }: Decoding) {
  return {
    finishFlush: mayBeCut ? constants.BROTLI_OPERATION_FLUSH : constants.BROTLI_OPERATION_FINISH,
    maxOutputLength: bytesMax,
  };
}

/** RFC 9110 8.4.1; content labelled deflate often lacks its zlib wrapper. */
const decoders: ReadonlyMap<string, readonly Decode[]> = new Map<string, readonly Decode[]>([
  ["gzip", [(input, how) => gunzipSync(input, zlib(how))]],
  ["x-gzip", [(input, how) => gunzipSync(input, zlib(how))]],
  [
    "deflate",
    [(input, how) => inflateSync(input, zlib(how)), (input, how) => inflateRawSync(input, zlib(how))],
  ],
  ["br", [(input, how) => brotliDecompressSync(input, brotli(how))]],
]);

/**
 * A body in readable form: in UTF-8, and without content codings, which some receivers apply although none was offered.
 * The input may be truncated, and the result is truncated to `bytesMax`. If a coding is unknown or broken, the body is
 * returned unchanged.
 */
export function readableSample(body: Uint8Array, head: RawFields, bytesMax: number): Uint8Array {
  const plain = withoutCodings(body, head, beginningOf);
  if (plain === null) return body;
  const kept = body.length < bytesMax ? plain : plain.subarray(0, safeEnd(plain.length, bytesMax));
  const charset = charsetOf(firstOf(head["content-type"], fieldLengthMax) ?? undefined);
  const text =
    charset === null || charset === "utf-8" ? kept : Buffer.from(bodyText(kept, `;charset=${charset}`));
  return text.subarray(0, bytesMax);
}

/**
 * A whole body without its content codings, for machine consumers, which would mistake a beginning for the whole
 * response. For a body that is too long, returns `bytesMax` zero bytes as a placeholder. If a coding is unknown or
 * broken, the body is returned unchanged.
 */
export function decodedBody(body: Uint8Array, head: RawFields, bytesMax: number): Uint8Array {
  try {
    return withoutCodings(body, head, (ways, input) => wholeOf(ways, input, bytesMax)) ?? body;
  } catch (error) {
    if (isTooLarge(error)) return new Uint8Array(bytesMax);
    throw error;
  }
}

type Undo = (ways: readonly Decode[], input: Uint8Array) => Uint8Array | null;

/** Null if a coding cannot be decoded. */
function withoutCodings(body: Uint8Array, head: RawFields, undo: Undo): Uint8Array | null {
  const codings = (firstOf(head["content-encoding"], fieldLengthMax) ?? "")
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  if (codings.length > codingsMax) return null;
  let plain = body;
  // Codings are listed in the order in which they were applied, so decode the last one first.
  for (const coding of codings.reverse()) {
    const decoded = undo(decoders.get(coding) ?? [], plain);
    if (decoded === null) return null;
    plain = decoded;
  }
  return plain;
}

/**
 * How much decoded text to keep. The sample may end within a secret, and masking covers the end of a sample only if the
 * sample is full. The last quarter of a shorter text is therefore omitted.
 */
function safeEnd(length: number, bytesMax: number): number {
  return length >= bytesMax ? bytesMax : Math.floor(length * 0.75);
}

/** Throws when the output is too large. */
function wholeOf(ways: readonly Decode[], input: Uint8Array, bytesMax: number): Uint8Array | null {
  for (const decode of ways)
    try {
      return decode(input, { bytesMax, mayBeCut: false });
    } catch (error) {
      if (isTooLarge(error)) throw error;
    }
  return null;
}

/** Halves the input each time the output is too large. */
function beginningOf(ways: readonly Decode[], body: Uint8Array): Uint8Array | null {
  for (const decode of ways) {
    let input = body;
    for (let tries = 0; tries < triesMax && input.length > 0; tries += 1) {
      try {
        return decode(input, { bytesMax: outputBytesMax, mayBeCut: true });
      } catch (error) {
        if (!isTooLarge(error)) break;
        input = input.subarray(0, Math.floor(input.length / 2));
      }
    }
  }
  return null;
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
}
