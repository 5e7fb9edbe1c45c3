import type { Socket } from "node:net";
import { Client } from "undici";
import type { buildConnector } from "undici";
import type { Dial, Dialer } from "./dialer.ts";
import type { Exchange } from "./exchange.ts";
import { ResponseGate } from "./response-gate.ts";

const headerBytesMax = 16 * 1024;

export interface ConnectionLimits {
  readonly socketsMax: number;
  readonly idleSocketMs: number;
}

/** One undici client, which is one socket at a time. Used for one exchange after the other. */
export class Connection {
  readonly origin: string;
  readonly gate = new ResponseGate();
  readonly #client: Client;
  readonly #dialer: Dialer;
  #exchange: Exchange | null = null;
  #dial: Dial | null = null;
  #socket: Socket | null = null;

  constructor(parts: {
    origin: string;
    dialer: Dialer;
    idleSocketMs: number;
    onDisconnect: (self: Connection) => void;
  }) {
    this.origin = parts.origin;
    this.#dialer = parts.dialer;
    this.#client = new Client(parts.origin, {
      connect: (options, callback) => this.#connect(options, callback),
      pipelining: 1,
      allowH2: false,
      useMilo: false,
      maxHeaderSize: headerBytesMax,
      // The deadline of the request covers these; each would cost a timer per request.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: parts.idleSocketMs,
      keepAliveMaxTimeout: parts.idleSocketMs,
      keepAliveTimeoutThreshold: 1000,
    });
    this.#client.on("disconnect", () => parts.onDisconnect(this));
  }

  /**
   * A request is under way, perhaps not written yet: when the receiver closes an idle connection just as it is picked
   * for a request, undici connects anew and sends it there.
   */
  get busy(): boolean {
    return this.#exchange !== null && !this.#exchange.settled;
  }

  get usable(): boolean {
    return this.#socket !== null && !this.#socket.destroyed;
  }

  send(exchange: Exchange): void {
    exchange.connection = this;
    this.#exchange = exchange;
    const { method, path, headers, body } = exchange.request;
    const content = method === "POST" || method === "PUT" ? body : null;
    // undici copies what it needs out of `headers`; its type only lacks the `readonly`.
    this.#client.dispatch({ method, path, headers: headers as string[], body: content }, exchange);
  }

  destroy(done: () => void): void {
    this.#dial?.abort();
    this.#client.destroy(null, done);
  }

  #connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
    this.#dial = this.#dialer.dial(options, (fault, socket) => {
      this.#dial = null;
      if (socket === null) return callback(fault ?? new Error("no socket"), null);
      this.#socket = socket;
      this.gate.install(socket);
      return callback(null, socket);
    });
  }
}

/**
 * Every socket of the transport, busy and idle, under one limit. Who may send how much at once is the engine's
 * decision; here a request waits only when all sockets are busy, in the order it came. At the limit the connection
 * that has been idle longest makes room, whichever origin it belongs to.
 */
export class Connections {
  readonly #dialer: Dialer;
  readonly #limits: ConnectionLimits;
  readonly #open = new Set<Connection>();
  /** In the order in which they became idle. */
  readonly #idle = new Set<Connection>();
  /** Most recently used last. */
  readonly #idleByOrigin = new Map<string, Connection[]>();
  readonly #waiting: Exchange[] = [];

  constructor(dialer: Dialer, limits: ConnectionLimits) {
    this.#dialer = dialer;
    this.#limits = limits;
  }

  /** Connections made or being made. While addresses are raced, one of these may hold a second socket. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Sends now if there is a socket or room for one, otherwise when there is. Throws what undici throws. */
  run(exchange: Exchange): void {
    const idle = this.#takeIdle(exchange.request.origin);
    if (idle !== null) return idle.send(exchange);
    if (this.#open.size >= this.#limits.socketsMax && !this.#evictOldestIdle()) {
      this.#waiting.push(exchange);
      return;
    }
    this.#openFor(exchange.request.origin).send(exchange);
  }

  /** Takes back the connection of an exchange that ended. */
  release(connection: Connection, reusable: boolean): void {
    if (!reusable || !connection.usable) {
      this.drop(connection);
      return;
    }
    this.#idle.add(connection);
    const stack = this.#idleByOrigin.get(connection.origin);
    if (stack === undefined) this.#idleByOrigin.set(connection.origin, [connection]);
    else stack.push(connection);
    // Not at once: a connection that the answer closes is destroyed after this call.
    if (this.#waiting.length > 0) queueMicrotask(() => this.#serveWaiting());
  }

  drop(connection: Connection, done: () => void = ignore): void {
    if (!this.#open.delete(connection)) return done();
    this.#forgetIdle(connection);
    connection.destroy(done);
    if (this.#waiting.length > 0) queueMicrotask(() => this.#serveWaiting());
  }

  /** After a 421: connections that exist may be the wrong ones. */
  dropIdle(origin: string): void {
    for (const connection of [...(this.#idleByOrigin.get(origin) ?? [])]) this.drop(connection);
  }

  async close(): Promise<void> {
    this.#waiting.length = 0;
    await Promise.all([...this.#open].map((one) => new Promise<void>((resolve) => this.drop(one, resolve))));
  }

  #takeIdle(origin: string): Connection | null {
    const stack = this.#idleByOrigin.get(origin);
    for (let connection = stack?.pop(); connection !== undefined; connection = stack?.pop()) {
      this.#idle.delete(connection);
      if (connection.usable) return connection;
      this.drop(connection);
    }
    return null;
  }

  #evictOldestIdle(): boolean {
    const oldest = this.#idle.values().next();
    if (oldest.done === true) return false;
    this.drop(oldest.value);
    return true;
  }

  #openFor(origin: string): Connection {
    const { idleSocketMs } = this.#limits;
    const onDisconnect = (connection: Connection): void => {
      if (!connection.busy) this.drop(connection);
    };
    const connection = new Connection({ origin, dialer: this.#dialer, idleSocketMs, onDisconnect });
    this.#open.add(connection);
    return connection;
  }

  #forgetIdle(connection: Connection): void {
    this.#idle.delete(connection);
    const stack = this.#idleByOrigin.get(connection.origin);
    if (stack === undefined) return;
    const index = stack.indexOf(connection);
    if (index >= 0) stack.splice(index, 1);
    if (stack.length === 0) this.#idleByOrigin.delete(connection.origin);
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0) {
      const room = this.#open.size < this.#limits.socketsMax || this.#idle.size > 0;
      if (!room) return;
      const exchange = this.#waiting.shift();
      if (exchange !== undefined && !exchange.settled) this.run(exchange);
    }
  }
}

function ignore(): void {
  // Nobody waits for a connection that is given up.
}
