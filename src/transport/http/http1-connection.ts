import type { Socket } from "node:net";
import { type buildConnector, Client } from "undici";
import { codeOf } from "../../domain/thrown.ts";
import type { Connection, ConnectionOwner, DialTimes } from "./connection.ts";
import type { Dial, Dialer } from "./dialer.ts";
import type { Exchange } from "./exchange.ts";
import { ResponseGate, type WireLimitListener } from "./response-gate.ts";
import type { TlsIdentity } from "./tls-identities.ts";

const headerBytesMax = 16 * 1024;
/** Upper limit, regardless of what a receiver offers in `Keep-Alive`. */
const keepAliveMsMax = 5 * 60_000;
/** undici's code when it closes an idle connection. */
const idledOut = "UND_ERR_INFO";

export interface Http1ConnectionParts {
  readonly origin: string;
  readonly identity: TlsIdentity;
  readonly dialer: Dialer;
  readonly idleSocketMs: number;
  readonly owner: Pick<ConnectionOwner, "disconnected">;
  /** A connected socket to start with. */
  readonly firstSocket?: Socket;
  /** When `firstSocket` was dialled. */
  readonly firstTimes?: DialTimes;
}

/** HTTP/1.1: one undici client, which is one socket at a time. */
export class Http1Connection implements Connection {
  readonly httpVersion = "1.1";
  readonly #gate = new ResponseGate();
  readonly #client: Client;
  readonly #dialer: Dialer;
  readonly #identity: TlsIdentity;
  #firstSocket: Socket | null;
  #exchange: Exchange | null = null;
  #dial: Dial | null = null;
  #socket: Socket | null = null;
  #times: DialTimes | null;

  constructor(parts: Http1ConnectionParts) {
    this.#dialer = parts.dialer;
    this.#identity = parts.identity;
    this.#firstSocket = parts.firstSocket ?? null;
    this.#times = parts.firstTimes ?? null;
    this.#client = new Client(parts.origin, {
      connect: (options, callback) => this.#connect(options, callback),
      pipelining: 1,
      allowH2: false,
      useMilo: false,
      maxHeaderSize: headerBytesMax,
      // The deadline of the request covers these timeouts; each would cost a timer per request.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: parts.idleSocketMs,
      // The receiver's `Keep-Alive` may request a shorter or a longer time.
      keepAliveMaxTimeout: Math.max(parts.idleSocketMs, keepAliveMsMax),
      keepAliveTimeoutThreshold: 1000,
    });
    this.#client.on("disconnect", (_origin, _targets, error) =>
      parts.owner.disconnected(codeOf(error) !== idledOut),
    );
  }

  get busy(): boolean {
    return this.#exchange !== null && !this.#exchange.settled;
  }

  get usable(): boolean {
    return this.#socket !== null && !this.#socket.destroyed;
  }

  get isSilent(): boolean {
    return this.#gate.isSilent;
  }

  get times(): DialTimes | null {
    return this.#times;
  }

  get socketError(): Error | null {
    return this.#gate.socketError;
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange;
    const { method, path, headers, body } = exchange.request;
    const content = method === "POST" || method === "PUT" ? body : null;
    // undici copies what it needs from `headers`; its type merely lacks `readonly`.
    this.#client.dispatch({ method, path, headers: headers as string[], body: content }, exchange);
  }

  expectAnswer(listener: WireLimitListener): void {
    this.#gate.expectAnswer(listener);
  }

  destroy(done: () => void): void {
    this.#dial?.abort();
    this.#firstSocket?.destroy();
    this.#client.destroy(null, done);
  }

  #connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const first = this.#firstSocket;
    this.#firstSocket = null;
    // undici has not finished requesting the connection, and would miss a socket that is passed on immediately.
    if (first !== null && !first.destroyed) return queueMicrotask(() => this.#use(first, callback));
    this.#dial = this.#dialer.dial(options, this.#identity, (fault, socket) => {
      this.#dial = null;
      if (socket === null) return callback(fault ?? new Error("no socket"), null);
      return this.#use(socket, callback);
    });
    this.#times = this.#dial.times;
  }

  #use(socket: Socket, callback: buildConnector.Callback): void {
    this.#socket = socket;
    this.#gate.install(socket);
    callback(null, socket);
  }
}
