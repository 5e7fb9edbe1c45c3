import type { Clock } from "../../ports/clock.ts";
import type { Connection, ConnectionOwner, DialTimes } from "./connection.ts";
import type { Dial, Dialer, DialTarget } from "./dialer.ts";
import type { Exchange } from "./exchange.ts";
import { faultOf, ownFaultOf } from "./failures.ts";
import { Http1Connection } from "./http1-connection.ts";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { HttpVersion } from "../../domain/attempt-trace.ts";
import { Http2Connection } from "./http2-connection.ts";
import type { WireLimitListener } from "./response-gate.ts";
import type { TlsIdentity } from "./tls-identities.ts";

interface Habit {
  /** How long the last connection had been idle when the receiver closed it. */
  readonly closedAfterMs: number;
  /** How long to keep idle connections, derived from two consecutive observations that agree; otherwise null. */
  readonly keptMs: number | null;
  readonly notedAtMs: number;
}

const habitsMax = 4096;
const habitMsMax = 60 * 60_000;
/** A connection that is closed earlier than this indicates a restart of the receiver, not an idle timeout. */
const habitMsMin = 500;
/** Maximum difference between two observations of the same idle timeout. */
const agreementMs = 500;
/**
 * Idle connections are kept only for this share of the observed time, so that no request races against the receiver's
 * close.
 */
const safeShare = 0.8;

/**
 * How long idle connections may be kept, by origin. Learns from receivers that close them early without announcing it
 * (`Keep-Alive`): a request sent just as the receiver closes is lost, and it is unknown whether it arrived.
 */
export class IdleTimes {
  readonly #clock: Clock;
  readonly #defaultMs: number;
  /** Most recently recorded last. */
  readonly #habits = new Map<string, Habit>();

  constructor(clock: Clock, idleSocketMs: number) {
    this.#clock = clock;
    this.#defaultMs = idleSocketMs;
  }

  msFor(origin: string): number {
    return Math.min(this.#habitOf(origin)?.keptMs ?? this.#defaultMs, this.#defaultMs);
  }

  /** Records that a receiver closed a connection that had been idle for this long. */
  closedByReceiver(origin: string, idleMs: number): void {
    if (idleMs < habitMsMin) return;
    const before = this.#habitOf(origin);
    const agrees = before !== null && Math.abs(before.closedAfterMs - idleMs) <= agreementMs;
    const keptMs = agrees ? Math.round(safeShare * Math.min(idleMs, before.closedAfterMs)) : null;
    this.#habits.delete(origin);
    this.#habits.set(origin, { closedAfterMs: idleMs, keptMs, notedAtMs: this.#clock.monotonicMs() });
    const oldest = this.#habits.keys().next();
    if (this.#habits.size > habitsMax && oldest.done !== true) this.#habits.delete(oldest.value);
  }

  #habitOf(origin: string): Habit | null {
    const habit = this.#habits.get(origin);
    return habit !== undefined && this.#clock.monotonicMs() - habit.notedAtMs < habitMsMax ? habit : null;
  }
}

export interface ConnectionLimits {
  /** Maximum number of open sockets, including idle ones, over all origins. */
  readonly socketsMax: number;
  /** Maximum number of idle sockets among them; no separate limit if omitted. */
  readonly idleSocketsMax?: number;
  /** How long a connection is kept for the next request, unless the receiver's `Keep-Alive` says otherwise. */
  readonly idleSocketMs: number;
  /** Called whenever the number of open sockets changes. */
  readonly onOpenSockets?: ((count: number) => void) | undefined;
}

/** A connection and the exchanges it may be used for. */
export interface PooledConnection {
  readonly connection: Connection;
  readonly origin: string;
  /** Requests with the same key may share it; see `Exchange.poolKey`. */
  readonly poolKey: string;
  /** True if the connection must not be used again. */
  retired: boolean;
  idleSinceMs: number;
}

/**
 * All sockets of the transport, busy and idle, under one limit. The engine decides how many requests each sender may
 * have in flight. Here a request waits only if all sockets are busy, first come, first served. At the limit, the
 * connection that has been idle longest is closed, regardless of its origin.
 */
export class Connections {
  readonly #dialer: Dialer;
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  readonly #idleTimes: IdleTimes;
  readonly #open = new Set<PooledConnection>();
  /** In the order in which they became idle. */
  readonly #idle = new Set<PooledConnection>();
  /** Most recently used last. */
  readonly #idleByKey = new Map<string, PooledConnection[]>();
  readonly #waiting: Exchange[] = [];

  constructor(dialer: Dialer, clock: Clock, limits: ConnectionLimits) {
    this.#dialer = dialer;
    this.#clock = clock;
    this.#limits = limits;
    this.#idleTimes = new IdleTimes(clock, limits.idleSocketMs);
  }

  /**
   * Connections open or being opened. While IP addresses are tried in parallel, one of these connections may hold a
   * second socket.
   */
  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Sends immediately if a socket is available or one can be opened, otherwise later. Requests that cannot be sent
   * fail.
   */
  run(exchange: Exchange): void {
    try {
      const idle = exchange.needsNewConnection ? null : this.#takeIdle(exchange.poolKey);
      if (idle !== null) {
        exchange.isReused = true;
        return sendOver(idle, exchange);
      }
      if (this.#open.size >= this.#limits.socketsMax && !this.#evictOldestIdle()) {
        this.#waiting.push(exchange);
        return;
      }
      sendOver(this.#openFor(exchange), exchange);
    } catch (error) {
      const fault = faultOf(error);
      exchange.fail(fault.category, fault.message, ownFaultOf(fault));
    }
  }

  /** Sends a request again over a new connection, after the receiver closed the old one just as it was used. */
  repeat(exchange: Exchange): boolean {
    const { pooled } = exchange;
    if (pooled === null) return false;
    this.#idleTimes.closedByReceiver(pooled.origin, this.#clock.monotonicMs() - pooled.idleSinceMs);
    exchange.repeat();
    this.drop(pooled);
    this.run(exchange);
    return true;
  }

  /** Returns the connection of a finished exchange to the pool, or closes it. */
  release(pooled: PooledConnection, reusable: boolean): void {
    if (!reusable || pooled.retired || !pooled.connection.usable) {
      this.drop(pooled);
      return;
    }
    this.#idle.add(pooled);
    pooled.idleSinceMs = this.#clock.monotonicMs();
    const stack = this.#idleByKey.get(pooled.poolKey);
    if (stack === undefined) this.#idleByKey.set(pooled.poolKey, [pooled]);
    else stack.push(pooled);
    if (this.#idle.size > (this.#limits.idleSocketsMax ?? Number.POSITIVE_INFINITY)) this.#evictOldestIdle();
    // Deferred: a connection that the response closes is destroyed after this call.
    if (this.#waiting.length > 0) queueMicrotask(() => this.#serveWaiting());
  }

  drop(pooled: PooledConnection, done: () => void = ignore): void {
    if (!this.#open.delete(pooled)) return done();
    this.#limits.onOpenSockets?.(this.#open.size);
    this.#forgetIdle(pooled);
    pooled.connection.destroy(done);
    if (this.#waiting.length > 0) queueMicrotask(() => this.#serveWaiting());
  }

  /** After a 421, existing connections may lead to the wrong host, including those in use. */
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
      disconnected: (byReceiver: boolean): void => {
        if (byReceiver && this.#idle.has(pooled))
          this.#idleTimes.closedByReceiver(origin, this.#clock.monotonicMs() - pooled.idleSinceMs);
        if (!pooled.connection.busy) this.drop(pooled);
      },
      refused: (exchange: Exchange): void => this.#sendElsewhere(pooled, exchange),
    };
    const parts = {
      origin,
      identity: request,
      dialer: this.#dialer,
      idleSocketMs: this.#idleTimes.msFor(origin),
      owner,
    };
    const negotiated = request.http2 && origin.startsWith("https:");
    const connection = negotiated ? new NegotiatedConnection(parts) : new Http1Connection(parts);
    const pooled = { connection, origin, poolKey, retired: false, idleSinceMs: 0 };
    this.#open.add(pooled);
    this.#limits.onOpenSockets?.(this.#open.size);
    return pooled;
  }

  /**
   * Sends a request over another connection, but only once: a receiver that refuses on every connection must not cause
   * endless retries.
   */
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
      if (exchange === undefined || exchange.settled) continue;
      exchange.placed();
      this.run(exchange);
    }
  }
}

function sendOver(pooled: PooledConnection, exchange: Exchange): void {
  exchange.pooled = pooled;
  pooled.connection.send(exchange);
}

function ignore(): void {
  // When a connection is abandoned, no caller is waiting for it any more.
}

export interface NegotiatedConnectionParts {
  /** `https:` */
  readonly origin: string;
  readonly identity: TlsIdentity;
  readonly dialer: Dialer;
  readonly idleSocketMs: number;
  readonly owner: ConnectionOwner;
}

/** A connection that offers HTTP/2 and uses the protocol that the receiver selects in the TLS handshake (ALPN). */
class NegotiatedConnection implements Connection {
  readonly #parts: NegotiatedConnectionParts;
  #exchange: Exchange | null = null;
  #dial: Dial | null = null;
  #chosen: Connection | null = null;
  #times: DialTimes | null = null;

  constructor(parts: NegotiatedConnectionParts) {
    this.#parts = parts;
  }

  get busy(): boolean {
    return this.#exchange !== null && !this.#exchange.settled;
  }

  get usable(): boolean {
    return this.#chosen?.usable === true;
  }

  get httpVersion(): HttpVersion | null {
    return this.#chosen?.httpVersion ?? null;
  }

  get isSilent(): boolean {
    return this.#chosen?.isSilent ?? false;
  }

  get times(): DialTimes | null {
    return this.#chosen?.times ?? this.#times;
  }

  get socketError(): Error | null {
    return this.#chosen?.socketError ?? null;
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange;
    if (this.#chosen !== null) return this.#chosen.send(exchange);
    const { dialer, origin, identity } = this.#parts;
    this.#dial = dialer.dial(targetOf(origin), identity, (fault, socket) => {
      this.#dial = null;
      if (socket === null) return exchange.onResponseError(null, fault ?? new Error("no socket"));
      return this.#sendOver(socket, exchange);
    });
    this.#times = this.#dial.times;
  }

  expectAnswer(listener: WireLimitListener): void {
    this.#chosen?.expectAnswer(listener);
  }

  destroy(done: () => void): void {
    this.#dial?.abort();
    if (this.#chosen === null) done();
    else this.#chosen.destroy(done);
  }

  #sendOver(socket: Socket, exchange: Exchange): void {
    const { identity } = this.#parts;
    this.#chosen =
      (socket as TLSSocket).alpnProtocol === "h2"
        ? new Http2Connection({ ...this.#parts, socket, times: this.#times })
        : new Http1Connection({
            ...this.#parts,
            identity: { ...identity, http2: false },
            firstSocket: socket,
            ...(this.#times !== null && { firstTimes: this.#times }),
          });
    try {
      this.#chosen.send(exchange);
    } catch (error) {
      const fault = faultOf(error);
      exchange.fail(fault.category, fault.message, ownFaultOf(fault));
    }
  }
}

function targetOf(origin: string): DialTarget {
  const { protocol, hostname, port } = new URL(origin);
  return { protocol, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port };
}
