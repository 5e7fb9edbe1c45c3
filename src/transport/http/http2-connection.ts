import { validateHeaderName, validateHeaderValue } from "node:http";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
  sensitiveHeaders,
} from "node:http2";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { OutboundRequest } from "../../ports/transport.ts";
import type { Connection, ConnectionOwner, DialTimes } from "./connection.ts";
import type { RawFields } from "./content-coding.ts";
import type { Exchange } from "./exchange.ts";
import { MalformedRequestFault, TransportFault } from "./failures.ts";
import { wireBytesMax, type WireLimitListener } from "./response-gate.ts";

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
 * It counts the bytes since the last request and ends the connection at a limit, regardless of their type: bodies, but also
 * pings, settings, padding, or frames of unknown types. And it detects END_STREAM, the only sign of a complete response:
 * Node reports a stream that was reset with NO_ERROR or CANCEL in the middle of its body like one that ended normally.
 */
class Http2Wire extends Duplex {
  /** The last stream whose response was complete. */
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

const headerBytesMax = 16 * 1024;

interface Http2ConnectionParts {
  readonly origin: string;
  /** Connected, with `h2` negotiated. */
  readonly socket: Socket;
  readonly times: DialTimes | null;
  readonly idleSocketMs: number;
  readonly owner: ConnectionOwner;
}

/**
 * HTTP/2, one stream at a time. Push is disabled in the settings, and a receiver that pushes nevertheless violates the
 * protocol (EDS-9.9-4). After a GOAWAY the connection takes no further requests; a request that the receiver reports as
 * unprocessed goes to another connection.
 */
export class Http2Connection implements Connection {
  readonly httpVersion = "2";
  /** Not needed, because GOAWAY reports which streams were not processed. */
  readonly isSilent = false;
  readonly times: DialTimes | null;
  readonly #authority: string;
  readonly #socket: Socket;
  readonly #wire: Http2Wire;
  readonly #session: ClientHttp2Session;
  readonly #owner: ConnectionOwner;
  #exchange: Exchange | null = null;
  /** Streams above this one were not processed. */
  #lastStreamId = Number.POSITIVE_INFINITY;
  #spoiled = false;

  constructor(parts: Http2ConnectionParts) {
    this.#authority = new URL(parts.origin).host;
    this.#socket = parts.socket;
    this.#owner = parts.owner;
    this.times = parts.times;
    const wire = new Http2Wire(parts.socket);
    this.#wire = wire;
    this.#session = connect(parts.origin, {
      createConnection: () => wire,
      settings: { enablePush: false, maxHeaderListSize: headerBytesMax },
    });
    this.#session.on("goaway", (_code: number, lastStreamId: number) => {
      this.#spoiled = true;
      this.#lastStreamId = lastStreamId;
    });
    // The stream of the request receives the error as well, and reports it.
    this.#session.on("error", () => {
      this.#spoiled = true;
    });
    let idledOut = false;
    this.#session.on("close", () => this.#owner.disconnected(!idledOut));
    this.#session.setTimeout(parts.idleSocketMs, () => {
      if (this.busy) return;
      idledOut = true;
      this.#wire.destroy();
    });
  }

  get busy(): boolean {
    return this.#exchange !== null && !this.#exchange.settled;
  }

  get usable(): boolean {
    return !this.#spoiled && !this.#session.closed && !this.#socket.destroyed;
  }

  get socketError(): Error | null {
    return this.#wire.socketError;
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange;
    const { request } = exchange;
    const hasContent = request.method === "POST" || request.method === "PUT";
    const headers = headersOf(request, this.#authority);
    if (!this.usable) return this.#owner.refused(exchange);
    this.expectAnswer(exchange);
    const stream = this.#session.request(headers, { endStream: !hasContent });
    this.#listen(stream, exchange);
    if (hasContent) stream.end(request.body);
  }

  expectAnswer(listener: WireLimitListener): void {
    this.#wire.expectAnswer(listener);
  }

  /**
   * Destroying the wire ends the session. In the opposite order, Node fails an internal assertion while a write is in
   * progress.
   */
  destroy(done: () => void): void {
    this.#wire.destroy();
    if (this.#socket.closed) done();
    else this.#socket.once("close", done).destroy();
  }

  #listen(stream: ClientHttp2Stream, exchange: Exchange): void {
    let failure: Error | null = null;
    if (stream.pending) stream.once("ready", () => exchange.onRequestSent());
    else exchange.onRequestSent();
    stream.on("headers", (fields) =>
      exchange.onResponseStart(null, fields[":status"] ?? 0, fields as RawFields),
    );
    stream.once("response", (fields) => {
      if (exchange.settled) return;
      exchange.onResponseStart(null, fields[":status"] ?? 0, fields);
      // Add this listener only now: Node may otherwise emit the body before the response.
      stream.on("data", (chunk: Buffer) => exchange.onResponseData(null, chunk));
    });
    stream.once("end", () => this.#ended(stream, exchange));
    stream.on("error", (error) => {
      failure = error;
    });
    stream.once("close", () => this.#lost(stream, exchange, failure));
  }

  #ended(stream: ClientHttp2Stream, exchange: Exchange): void {
    if (stream.id === undefined || this.#wire.endedStreamId !== stream.id || exchange.status === 0) return;
    // If the response arrived before the request was fully written, the rest of the request blocks the connection.
    if (!stream.writableFinished) this.#spoiled = true;
    exchange.onResponseEnd();
  }

  /** Ends the exchange of a stream that ended early (EDS-9.9-2). Does nothing if the exchange has settled. */
  #lost(stream: ClientHttp2Stream, exchange: Exchange, failure: Error | null): void {
    if (exchange.settled) return;
    this.#spoiled = true;
    const isUnseen = stream.id === undefined || stream.id > this.#lastStreamId;
    if (isUnseen && exchange.status === 0) return this.#owner.refused(exchange);
    const silent = new TransportFault("network", `stream ended with code ${stream.rstCode ?? 0}`);
    exchange.onResponseError(null, failure ?? this.socketError ?? silent);
  }
}

/**
 * The header fields for HTTP/2. None of them is added to the receiver's compression table: they are secrets or differ
 * each time, and the webhooks of one origin share connections.
 */
function headersOf(request: OutboundRequest, authority: string): OutgoingHttpHeaders {
  const { method, path, headers, body } = request;
  if (!/^\/[\x21-\xff]*$/.test(path)) throw new MalformedRequestFault("invalid request path");
  const fields: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = (headers[index] ?? "").toLowerCase();
    addField(fields, name === "host" ? ":authority" : name, headers[index + 1] ?? "");
  }
  if (method === "POST" || method === "PUT") fields["content-length"] = String(body.byteLength);
  const names = Object.keys(fields).filter((name) => !name.startsWith(":"));
  return {
    ":method": method,
    ":scheme": "https",
    ":authority": authority,
    ":path": path,
    ...fields,
    [sensitiveHeaders]: names,
  };
}

function addField(fields: Record<string, string | string[]>, name: string, value: string): void {
  try {
    if (name !== ":authority") validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new MalformedRequestFault(`invalid header ${name}`);
  }
  const before = fields[name];
  if (before === undefined) fields[name] = value;
  else fields[name] = typeof before === "string" ? [before, value] : [...before, value];
}
