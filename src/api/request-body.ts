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
  let first: Buffer | null = null;
  let chunks: Buffer[] | null = null;
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      payload.off("data", onData).off("end", onEnd);
      first = chunks = null;
      dropBody(payload);
      done(null, bodyTooLarge);
    } else if (first === null) {
      first = chunk;
    } else {
      chunks ??= [first];
      chunks.push(chunk);
    }
  };
  const onEnd = (): void => {
    done(null, chunks === null ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, bytes));
  };
  payload.on("data", onData);
  payload.on("end", onEnd);
  payload.on("error", () => {
    // Nobody is left to answer, and a caller who hangs up is no failure of ours.
    if (bytes <= bytesMax) done(new InvalidRequestError("The body ended too early.", []));
  });
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
