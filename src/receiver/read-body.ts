import { tooLarge } from "./admission.ts";
import type { ReceiverError } from "./receiver-error.ts";

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
  const kept: Uint8Array[] = [];
  let bytes = 0;
  // Not for await, which would destroy the stream, and with it the connection, where it is left early.
  for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) {
    bytes += chunk.value.byteLength;
    if (bytes <= bodyBytesMax) kept.push(chunk.value);
    else kept.length = 0;
    if (bytes > bodyBytesMax * (1 + discardedBytesFactor)) {
      return { kind: "too_large", error: tooLarge(bodyBytesMax), isAtEnd: false };
    }
  }
  if (bytes > bodyBytesMax) return { kind: "too_large", error: tooLarge(bodyBytesMax), isAtEnd: true };
  return { kind: "read", body: join(kept, bytes) };
}

function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
