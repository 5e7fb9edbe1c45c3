import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { wireBytesMax } from "./response-gate.ts";
import type { WireLimitListener } from "./response-gate.ts";

const frameHeadLength = 9;
const typeAt = 3;
const flagsAt = 4;
const streamIdAt = 5;
const dataType = 0;
const headersType = 1;
const endStreamFlag = 1;

/**
 * Sits between a socket and node:http2, for two things that Node does not report.
 *
 * It counts the bytes since the last request and ends the connection at a limit, whatever they are: bodies, but also
 * pings, settings, padding, or frames of unknown types. And it detects END_STREAM, the only mark of a complete answer:
 * Node reports a stream that was reset with NO_ERROR or CANCEL in the middle of its body like one that ended well.
 */
export class Http2Wire extends Duplex {
  /** The last stream whose answer was complete. */
  endedStreamId = 0;
  readonly #socket: Socket;
  readonly #frameHead = Buffer.alloc(frameHeadLength);
  #frameHeadBytes = 0;
  #payloadBytesLeft = 0;
  #wireBytes = 0;
  #listener: WireLimitListener | null = null;
  /** The error of the socket, if it failed. */
  socketError: Error | null = null;

  constructor(socket: Socket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#pass(chunk));
    socket.on("end", () => this.push(null));
    socket.on("close", () => this.destroy());
    socket.on("error", (error) => {
      this.socketError ??= error;
      this.destroy();
    });
  }

  expectAnswer(listener: WireLimitListener): void {
    this.#listener = listener;
    this.#wireBytes = 0;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #pass(chunk: Buffer): void {
    this.#wireBytes += chunk.length;
    if (this.#wireBytes > wireBytesMax) {
      this.#listener?.onWireLimit();
      this.#listener = null;
      this.destroy();
      return;
    }
    this.#walk(chunk);
    if (!this.push(chunk)) this.#socket.pause();
  }

  #walk(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      const skipped = Math.min(this.#payloadBytesLeft, chunk.length - at);
      this.#payloadBytesLeft -= skipped;
      at += skipped;
      if (at < chunk.length) at += this.#readHead(chunk, at);
    }
  }

  /** Returns how many bytes it consumed. */
  #readHead(chunk: Buffer, from: number): number {
    const head = this.#frameHead;
    const taken = chunk.copy(head, this.#frameHeadBytes, from, from + frameHeadLength - this.#frameHeadBytes);
    this.#frameHeadBytes += taken;
    if (this.#frameHeadBytes < frameHeadLength) return taken;
    this.#frameHeadBytes = 0;
    this.#payloadBytesLeft = head.readUIntBE(0, 3);
    const type = head[typeAt];
    const ends = ((head[flagsAt] ?? 0) & endStreamFlag) !== 0;
    if (ends && (type === dataType || type === headersType)) {
      this.endedStreamId = head.readUInt32BE(streamIdAt) & 0x7fffffff;
    }
    return taken;
  }
}
