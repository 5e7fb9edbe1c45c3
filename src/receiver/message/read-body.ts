import { tooLarge } from "../admission.ts";
import type { ReceiverError } from "../receiver-error.ts";

/** The result of reading a body: its bytes, or why they could not be read. */
export type ReadBody =
  | { readonly kind: "read"; readonly body: Uint8Array }
  | {
      readonly kind: "too_large";
      readonly error: ReceiverError;
      /** False if the sender was still sending, in which case the connection must not be reused. */
      readonly isAtEnd: boolean;
    };

/**
 * How much more is read and discarded before the response. A sender that writes without reading would otherwise miss
 * the response; a sender that never stops is disconnected.
 */
const discardedBytesFactor = 4;

/** Reads a body in chunks and keeps up to `bodyBytesMax` bytes. Rejects if the sender disconnects. */
export async function readBody(chunks: AsyncIterator<Uint8Array>, bodyBytesMax: number): Promise<ReadBody> {
  let kept: Uint8Array = nothing;
  let bytes = 0;
  // Leaving a `for await` loop early would destroy the stream, and with it the connection.
  for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) {
    bytes += chunk.value.byteLength;
    kept = bytes <= bodyBytesMax ? withChunk(kept, chunk.value, bytes) : nothing;
    if (bytes > bodyBytesMax * (1 + discardedBytesFactor)) {
      return { kind: "too_large", error: tooLarge(bodyBytesMax), isAtEnd: false };
    }
  }
  if (bytes > bodyBytesMax) return { kind: "too_large", error: tooLarge(bodyBytesMax), isAtEnd: true };
  return { kind: "read", body: kept.subarray(0, bytes) };
}

const nothing = new Uint8Array();

/**
 * Appends a chunk; `bytes` is the resulting length, and the buffer may have spare capacity. Chunks are not collected in
 * a list, because a sender controls their size, and one object per byte would take a hundred times the memory.
 */
function withChunk(kept: Uint8Array, chunk: Uint8Array, bytes: number): Uint8Array {
  const end = bytes - chunk.byteLength;
  if (end === 0) return chunk;
  // The first chunk may belong to a shared buffer and has no spare capacity, so it is never written to.
  const isRoomy = kept.byteLength >= bytes;
  const roomy = isRoomy ? kept : new Uint8Array(2 * bytes);
  if (!isRoomy) roomy.set(kept.subarray(0, end));
  roomy.set(chunk, end);
  return roomy;
}
