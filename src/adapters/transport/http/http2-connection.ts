import { validateHeaderName, validateHeaderValue } from "node:http";
import { connect, sensitiveHeaders } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import type { OutboundRequest } from "../../../ports/transport.ts";
import type { Connection, ConnectionOwner } from "./connection.ts";
import type { DialTimes } from "./dial-times.ts";
import type { Exchange } from "./exchange.ts";
import { MalformedRequestFault, TransportFault } from "./failures.ts";
import { Http2Wire } from "./http2-wire.ts";
import type { RawFields } from "./response-fields.ts";
import type { WireLimitListener } from "./response-gate.ts";

const headerBytesMax = 16 * 1024;

export interface Http2ConnectionParts {
  readonly origin: string;
  /** Connected, with `h2` negotiated. */
  readonly socket: Socket;
  readonly times: DialTimes | null;
  readonly idleSocketMs: number;
  readonly owner: ConnectionOwner;
}

/**
 * HTTP/2, one stream at a time. Push is disabled in the settings, and a receiver that pushes nevertheless violates the
 * protocol (EDS-9.9-4). After a GOAWAY the connection takes no further request; a request that the receiver says it did
 * not process goes to another connection.
 */
export class Http2Connection implements Connection {
  readonly httpVersion = "2";
  /** GOAWAY says which streams were not processed. */
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
   * Destroying the wire ends the session. The other way round, Node fails an internal assertion while a write is in
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
      // Not earlier: Node may hand out the body first.
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
    // If the answer came before the request was fully written, the rest of the request blocks the connection.
    if (!stream.writableFinished) this.#spoiled = true;
    exchange.onResponseEnd();
  }

  /** EDS-9.9-2. Does nothing when the answer is complete. */
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
 * The header fields for HTTP/2. None is added to the receiver's compression table: they are secrets or differ each
 * time, and the webhooks of one origin share connections.
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
