/**
 * Reads a body into one buffer with a bound. Fastify's own reader resets the connection when the bound is passed, so
 * that a client that is still sending often never sees the 413; here the rest is read and dropped, within reason.
 */
import type { IncomingMessage } from "node:http";
import { InvalidRequestError, PosthornError } from "../core/errors.ts";
import type { BodyMemory } from "./body-memory.ts";

/** Stands for a body beyond its limit. */
export const bodyTooLarge: unique symbol = Symbol("body too large");
export type RequestBody = Buffer | typeof bodyTooLarge;

const droppedBytesMax = 32 * 1024 * 1024;

export interface BodyBounds {
  /** Of this body. */
  readonly bytesMax: number;
  /** For all bodies that are on their way. */
  readonly memory: BodyMemory;
  /** Whose body it is. */
  readonly caller: string;
}

/** Smaller ones are not counted: the bound on connections bounds them too, and nearly all bodies are. */
const countedFrom = 16 * 1024;

/** Calls back exactly once; with the symbol as soon as the limit is passed, so that the answer can go out. */
export function readBody(
  payload: IncomingMessage,
  { bytesMax, memory, caller }: BodyBounds,
  done: (error: Error | null, body?: RequestBody) => void,
): void {
  if (Number(payload.headers["content-length"]) > bytesMax) {
    dropBody(payload);
    done(null, bodyTooLarge);
    return;
  }
  let kept: Buffer = nothing;
  let bytes = 0;
  let counted = 0;
  let isDone = false;
  const finish = (error: Error | null, body?: RequestBody): void => {
    isDone = true;
    payload.off("data", onData).off("end", onEnd);
    kept = nothing;
    if (counted > 0) memory.giveBack(caller, counted);
    done(error, body);
  };
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    const room = roomFor(kept, bytes);
    const isCounted = room <= countedFrom || room <= counted || memory.take(caller, room - counted);
    if (isCounted && bytes <= bytesMax) {
      if (room > countedFrom) counted = Math.max(counted, room);
      kept = withChunk(kept, { chunk, bytes });
      return;
    }
    dropBody(payload);
    if (bytes > bytesMax) finish(null, bodyTooLarge);
    else finish(new PosthornError("unavailable", crowded, { retryAfterSeconds: 1 }));
  };
  const onEnd = (): void => finish(null, kept.subarray(0, bytes));
  payload.on("data", onData);
  payload.on("end", onEnd);
  payload.on("error", () => {
    // Nobody is left to answer, and a caller who hangs up is no failure of ours.
    if (!isDone) finish(new InvalidRequestError("The body ended too early.", []));
  });
}

const crowded = "Too many large bodies are on their way at once. Send it again in a moment.";

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
  const roomy = isRoomy ? kept : Buffer.allocUnsafeSlow(roomFor(kept, bytes));
  if (!isRoomy) kept.copy(roomy, 0, 0, end);
  chunk.copy(roomy, end);
  return roomy;
}

/** How much memory it takes to keep so many bytes. */
function roomFor(kept: Buffer, bytes: number): number {
  if (kept.length === 0) return bytes;
  return kept.length >= bytes ? kept.length : 2 * bytes;
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
