import { tooLarge } from "../admission.ts";
import type { ReceiverError } from "../receiver-error.ts";

/** What an adapter reads: the bytes of a body, or why it may not have them. */
export type ReadBody =
  | { readonly kind: "read"; readonly body: Uint8Array }
  | {
      readonly kind: "too_large";
      readonly error: ReceiverError;
      /** False when the sender was still sending: the connection must not be used again. */
      readonly isAtEnd: boolean;
    };

/**
 * How much more is read and thrown away before the answer: a sender that never reads while it writes could not see the
 * answer otherwise, and one that never stops is cut off.
 */
const discardedBytesFactor = 4;

/** Reads a body in chunks, keeping at most `bodyBytesMax` bytes. Rejects when the sender goes away. */
export async function readBody(
  chunks: AsyncIterator<Uint8Array>,
  { bodyBytesMax }: { readonly bodyBytesMax: number },
): Promise<ReadBody> {
  let kept: Uint8Array = nothing;
  let bytes = 0;
  // Not for await, which would destroy the stream, and with it the connection, where it is left early.
  for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) {
    bytes += chunk.value.byteLength;
    kept = bytes <= bodyBytesMax ? withChunk(kept, { chunk: chunk.value, bytes }) : nothing;
    if (bytes > bodyBytesMax * (1 + discardedBytesFactor)) {
      return { kind: "too_large", error: tooLarge(bodyBytesMax), isAtEnd: false };
    }
  }
  if (bytes > bodyBytesMax) return { kind: "too_large", error: tooLarge(bodyBytesMax), isAtEnd: true };
  return { kind: "read", body: kept.subarray(0, bytes) };
}

const nothing = new Uint8Array();

/**
 * What was kept with a chunk behind it; `bytes` is how much there is then, and room for more may follow. Chunks are not
 * collected in a list: a sender decides how small they are, and an object for each byte takes a hundred times its size.
 */
function withChunk(
  kept: Uint8Array,
  { chunk, bytes }: { readonly chunk: Uint8Array; readonly bytes: number },
): Uint8Array {
  const end = bytes - chunk.byteLength;
  if (end === 0) return chunk;
  // The first chunk is memory of others; it has no room, so it is never written into.
  const isRoomy = kept.byteLength >= bytes;
  const roomy = isRoomy ? kept : new Uint8Array(2 * bytes);
  if (!isRoomy) roomy.set(kept.subarray(0, end));
  roomy.set(chunk, end);
  return roomy;
}
