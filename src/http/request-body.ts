import type { IncomingMessage } from "node:http";
import { InvalidRequestError, PosthornError } from "../domain/errors.ts";

/**
 * Memory for request bodies in flight, shared by all callers. Without a limit, a caller could fill the process by
 * sending many bodies and finishing none. A caller may take more only while it holds less than what is still free. One
 * caller can therefore hold at most half, and there is always room for another.
 */
export class BodyMemory {
  readonly #bytesMax: number;
  readonly #held = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Takes `bytes` more for a caller. Returns false and takes nothing if that exceeds the limit. */
  take(caller: string, bytes: number): boolean {
    const held = (this.#held.get(caller) ?? 0) + bytes;
    const free = this.#bytesMax - this.#bytes - bytes;
    if (free < 0 || held > free) return false;
    this.#held.set(caller, held);
    this.#bytes += bytes;
    return true;
  }

  giveBack(caller: string, bytes: number): void {
    const held = (this.#held.get(caller) ?? 0) - bytes;
    if (held > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
    this.#bytes -= bytes;
  }
}

// Reads a body into one buffer with a size limit. Fastify's own reader resets the connection at the limit, so a client
// that is still sending often never sees the 413. Here the rest is read and discarded, up to a limit.

/** Result for a body beyond its limit. */
export const bodyTooLarge: unique symbol = Symbol("body too large");
export type RequestBody = Buffer | typeof bodyTooLarge;

const droppedBytesMax = 32 * 1024 * 1024;

export interface BodyBounds {
  /** Limit of this body. */
  readonly bytesMax: number;
  /** Shared memory of all bodies in flight. */
  readonly memory: BodyMemory;
  /** The caller who is charged for the memory. */
  readonly caller: string;
}

/** Smaller bodies, nearly all of them, are not counted: the limit on connections bounds them too. */
const countedFrom = 16 * 1024;

/** Calls back exactly once; with the symbol as soon as the limit is exceeded, so that the response can be sent. */
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
      kept = withChunk(kept, chunk, bytes);
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
    // No client is left to answer, and a client that hangs up is not a server error.
    if (!isDone) finish(new InvalidRequestError("The body ended too early.", []));
  });
}

const crowded = "Too many large bodies are in flight. Retry in a moment.";

const nothing = Buffer.alloc(0);

/**
 * Appends a chunk; `bytes` is the new length, and the buffer may have spare room. Chunks are not collected in a list,
 * because the caller controls their size: one object per byte would take a hundred times its size.
 */
function withChunk(kept: Buffer, chunk: Buffer, bytes: number): Buffer {
  const end = bytes - chunk.length;
  if (end === 0) return chunk;
  // The first chunk is shared memory without spare room, so it is never written to.
  const isRoomy = kept.length >= bytes;
  const roomy = isRoomy ? kept : Buffer.allocUnsafeSlow(roomFor(kept, bytes));
  if (!isRoomy) kept.copy(roomy, 0, 0, end);
  chunk.copy(roomy, end);
  return roomy;
}

/** Buffer size for this many bytes. */
function roomFor(kept: Buffer, bytes: number): number {
  if (kept.length === 0) return bytes;
  return kept.length >= bytes ? kept.length : 2 * bytes;
}

/** Drains and discards an unused body, up to a limit. */
export function dropBody(payload: IncomingMessage): void {
  let bytes = 0;
  payload.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > droppedBytesMax) payload.destroy();
  });
  payload.on("error", () => {});
  payload.resume();
}
