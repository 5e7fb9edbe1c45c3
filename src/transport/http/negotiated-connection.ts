import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { HttpVersion } from "../../domain/attempt-trace.ts";
import type { Connection, ConnectionOwner, DialTimes } from "./connection.ts";
import type { Dial, Dialer, DialTarget } from "./dialer.ts";
import type { Exchange } from "./exchange.ts";
import { faultOf, ownFaultOf } from "./failures.ts";
import { Http1Connection } from "./http1-connection.ts";
import { Http2Connection } from "./http2-connection.ts";
import type { WireLimitListener } from "./response-gate.ts";
import type { TlsIdentity } from "./tls-identities.ts";

export interface NegotiatedConnectionParts {
  /** `https:` */
  readonly origin: string;
  readonly identity: TlsIdentity;
  readonly dialer: Dialer;
  readonly idleSocketMs: number;
  readonly owner: ConnectionOwner;
}

/** A connection that offers HTTP/2 and uses what the receiver selects in the TLS handshake (ALPN). */
export class NegotiatedConnection implements Connection {
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
