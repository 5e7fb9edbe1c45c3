/**
 * Reads a body into one buffer with a bound. Fastify's own reader resets the connection when the bound is passed, so
 * that a client that is still sending often never sees the 413; here the rest is read and dropped, within reason.
 */
import type { IncomingMessage } from "node:http";
import { InvalidRequestError } from "../core/errors.ts";

/** Stands for a body beyond its limit. */
export const bodyTooLarge: unique symbol = Symbol("body too large");
export type RequestBody = Buffer | typeof bodyTooLarge;

const droppedBytesMax = 32 * 1024 * 1024;

/** Calls back exactly once; with the symbol as soon as the limit is passed, so that the answer can go out. */
export function readBody(
  payload: IncomingMessage,
  bytesMax: number,
  done: (error: Error | null, body?: RequestBody) => void,
): void {
  if (Number(payload.headers["content-length"]) > bytesMax) {
    dropBody(payload);
    done(null, bodyTooLarge);
    return;
  }
  let kept: Buffer = nothing;
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      payload.off("data", onData).off("end", onEnd);
      kept = nothing;
      dropBody(payload);
      done(null, bodyTooLarge);
    } else {
      kept = withChunk(kept, { chunk, bytes });
    }
  };
  const onEnd = (): void => {
    done(null, kept.subarray(0, bytes));
  };
  payload.on("data", onData);
  payload.on("end", onEnd);
  payload.on("error", () => {
    // Nobody is left to answer, and a caller who hangs up is no failure of ours.
    if (bytes <= bytesMax) done(new InvalidRequestError("The body ended too early.", []));
  });
}

const nothing = Buffer.alloc(0);

/**
 * What was kept with a chunk behind it; `bytes` is how much there is then, and room for more may follow. Chunks are not
 * collected in a list: a caller decides how small they are, and an object for each byte takes a hundred times its size.
 */
function withChunk(
  kept: Buffer,
  { chunk, bytes }: { readonly chunk: Buffer; readonly bytes: number },
): Buffer {
  const end = bytes - chunk.length;
  if (end === 0) return chunk;
  // The first chunk is memory of others; it has no room, so it is never written into.
  const isRoomy = kept.length >= bytes;
  const roomy = isRoomy ? kept : Buffer.allocUnsafeSlow(2 * bytes);
  if (!isRoomy) kept.copy(roomy, 0, 0, end);
  chunk.copy(roomy, end);
  return roomy;
}

/** Lets a body that nobody wants pass by, within reason; none of it is kept. */
export function dropBody(payload: IncomingMessage): void {
  let bytes = 0;
  payload.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > droppedBytesMax) payload.destroy();
  });
  payload.on("error", () => {});
  payload.resume();
}
