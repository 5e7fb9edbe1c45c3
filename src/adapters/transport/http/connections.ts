import type { Connection } from "./connection.ts";
import type { Dialer } from "./dialer.ts";
import type { Exchange } from "./exchange.ts";
import { faultOf } from "./failures.ts";
import { Http1Connection } from "./http1-connection.ts";
import { NegotiatedConnection } from "./negotiated-connection.ts";

export interface ConnectionLimits {
  readonly socketsMax: number;
  readonly idleSocketMs: number;
}

/** A connection and what it may be used for. */
export interface PooledConnection {
  readonly connection: Connection;
  readonly origin: string;
  /** Requests with the same key may share it; see `Exchange.poolKey`. */
  readonly poolKey: string;
  /** Not to be used again. */
  retired: boolean;
}

/**
 * Every socket of the transport, busy and idle, under one limit. Who may send how much at once is the engine's
 * decision; here a request waits only when all sockets are busy, in the order it came. At the limit the connection
 * that has been idle longest makes room, whichever origin it belongs to.
 */
export class Connections {
  readonly #dialer: Dialer;
  readonly #limits: ConnectionLimits;
  readonly #open = new Set<PooledConnection>();
  /** In the order in which they became idle. */
  readonly #idle = new Set<PooledConnection>();
  /** Most recently used last. */
  readonly #idleByKey = new Map<string, PooledConnection[]>();
  readonly #waiting: Exchange[] = [];

  constructor(dialer: Dialer, limits: ConnectionLimits) {
    this.#dialer = dialer;
    this.#limits = limits;
  }

  /** Connections made or being made. While addresses are raced, one of these may hold a second socket. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Sends now if there is a socket or room for one, otherwise when there is. What cannot be sent fails. */
  run(exchange: Exchange): void {
    try {
      const idle = this.#takeIdle(exchange.poolKey);
      if (idle !== null) return sendOver(idle, exchange);
      if (this.#open.size >= this.#limits.socketsMax && !this.#evictOldestIdle()) {
        this.#waiting.push(exchange);
        return;
      }
      sendOver(this.#openFor(exchange), exchange);
    } catch (error) {
      const fault = faultOf(error);
      exchange.fail(fault.category, fault.message);
    }
  }

  /** Takes back the connection of an exchange that ended. */
  release(pooled: PooledConnection, reusable: boolean): void {
    if (!reusable || pooled.retired || !pooled.connection.usable) {
      this.drop(pooled);
      return;
    }
    this.#idle.add(pooled);
    const stack = this.#idleByKey.get(pooled.poolKey);
    if (stack === undefined) this.#idleByKey.set(pooled.poolKey, [pooled]);
    else stack.push(pooled);
    // Not at once: a connection that the answer closes is destroyed after this call.
    if (this.#waiting.length > 0) queueMicrotask(() => this.#serveWaiting());
  }

  drop(pooled: PooledConnection, done: () => void = ignore): void {
    if (!this.#open.delete(pooled)) return done();
    this.#forgetIdle(pooled);
    pooled.connection.destroy(done);
    if (this.#waiting.length > 0) queueMicrotask(() => this.#serveWaiting());
  }

  /** After a 421: connections that exist may be the wrong ones, those in use as well. */
  retire(origin: string): void {
    for (const pooled of [...this.#open]) {
      if (pooled.origin !== origin) continue;
      pooled.retired = true;
      if (this.#idle.has(pooled)) this.drop(pooled);
    }
  }

  async close(): Promise<void> {
    this.#waiting.length = 0;
    await Promise.all([...this.#open].map((one) => new Promise<void>((resolve) => this.drop(one, resolve))));
  }

  #takeIdle(poolKey: string): PooledConnection | null {
    const stack = this.#idleByKey.get(poolKey);
    for (let pooled = stack?.pop(); pooled !== undefined; pooled = stack?.pop()) {
      this.#idle.delete(pooled);
      if (pooled.connection.usable) return pooled;
      this.drop(pooled);
    }
    return null;
  }

  #evictOldestIdle(): boolean {
    const oldest = this.#idle.values().next();
    if (oldest.done === true) return false;
    this.drop(oldest.value);
    return true;
  }

  #openFor({ request, poolKey }: Exchange): PooledConnection {
    const { origin } = request;
    const owner = {
      disconnected: (): void => {
        if (!pooled.connection.busy) this.drop(pooled);
      },
      refused: (exchange: Exchange): void => this.#sendElsewhere(pooled, exchange),
    };
    const parts = {
      origin,
      identity: request,
      dialer: this.#dialer,
      idleSocketMs: this.#limits.idleSocketMs,
      owner,
    };
    const negotiated = request.http2 && origin.startsWith("https:");
    const connection = negotiated ? new NegotiatedConnection(parts) : new Http1Connection(parts);
    const pooled = { connection, origin, poolKey, retired: false };
    this.#open.add(pooled);
    return pooled;
  }

  /** Once: a receiver that refuses on every connection must not keep a request going round. */
  #sendElsewhere(pooled: PooledConnection, exchange: Exchange): void {
    if (exchange.settled) return;
    if (!exchange.startOver()) return exchange.fail("network", "the receiver refused it on two connections");
    this.drop(pooled);
    this.run(exchange);
  }

  #forgetIdle(pooled: PooledConnection): void {
    this.#idle.delete(pooled);
    const stack = this.#idleByKey.get(pooled.poolKey);
    if (stack === undefined) return;
    const index = stack.indexOf(pooled);
    if (index >= 0) stack.splice(index, 1);
    if (stack.length === 0) this.#idleByKey.delete(pooled.poolKey);
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

function sendOver(pooled: PooledConnection, exchange: Exchange): void {
  exchange.pooled = pooled;
  pooled.connection.send(exchange);
}

function ignore(): void {
  // Nobody waits for a connection that is given up.
}
