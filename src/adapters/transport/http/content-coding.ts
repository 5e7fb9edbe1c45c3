import { brotliDecompressSync, constants, gunzipSync, inflateRawSync, inflateSync } from "node:zlib";
import { bodyText, charsetOf } from "../../../core/http/body-text.ts";
import { firstOf } from "./response-fields.ts";
import type { RawFields } from "./response-fields.ts";

/** More would only be a way to make us compute. */
const codingsMax = 2;
/** Of one try; a body that expands to more is decoded up to an earlier byte. */
const outputBytesMax = 256 * 1024;
const triesMax = 6;
const fieldLengthMax = 200;

type Decode = (input: Uint8Array) => Buffer;

const zlib = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: outputBytesMax };
const brotli = { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength: outputBytesMax };

/** RFC 9110 8.4.1; what is called deflate is often without its zlib wrapper. */
const decoders: ReadonlyMap<string, readonly Decode[]> = new Map<string, readonly Decode[]>([
  ["gzip", [(input) => gunzipSync(input, zlib)]],
  ["x-gzip", [(input) => gunzipSync(input, zlib)]],
  ["deflate", [(input) => inflateSync(input, zlib), (input) => inflateRawSync(input, zlib)]],
  ["br", [(input) => brotliDecompressSync(input, brotli)]],
]);

/**
 * A body as people can read it: without the content codings that the receiver applied although none was offered, and in UTF-8.
 * The body may be cut. The result is cut to `bytesMax`, and it is the body as it came where a coding is not known or broken.
 */
export function readableSample(body: Uint8Array, head: RawFields, bytesMax: number): Uint8Array {
  const plain = withoutCodings(body, head);
  if (plain === null) return body;
  const kept = body.length < bytesMax ? plain : plain.subarray(0, safeEnd(plain.length, bytesMax));
  const charset = charsetOf(firstOf(head["content-type"], fieldLengthMax) ?? undefined);
  const text =
    charset === null || charset === "utf-8" ? kept : Buffer.from(bodyText(kept, `;charset=${charset}`));
  return text.subarray(0, bytesMax);
}

/** The body without its content codings; null where it has none that can be undone. */
export function withoutCodings(body: Uint8Array, head: RawFields): Uint8Array | null {
  const codings = (firstOf(head["content-encoding"], fieldLengthMax) ?? "")
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  if (codings.length > codingsMax) return null;
  let plain = body;
  // In the order in which they were applied, so that the last one comes off first.
  for (const coding of codings.reverse()) {
    const decoded = decodedBy(decoders.get(coding) ?? [], plain);
    if (decoded === null) return null;
    plain = decoded;
  }
  return plain;
}

/**
 * A full sample may end within a secret, which is masked at the end of a sample only if the sample is full. Where the decoded
 * text is shorter, its end is left out.
 */
function safeEnd(length: number, bytesMax: number): number {
  return length >= bytesMax ? bytesMax : Math.floor(length * 0.75);
}

/** Half of the input as often as the output is too large. */
function decodedBy(ways: readonly Decode[], body: Uint8Array): Uint8Array | null {
  for (const decode of ways) {
    let input = body;
    for (let tries = 0; tries < triesMax && input.length > 0; tries += 1) {
      try {
        return decode(input);
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
