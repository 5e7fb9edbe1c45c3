import type { LookupFunction } from "node:net";
import type { AddressPolicy } from "../../domain/egress/address-policy.ts";
import type { Clock } from "../../ports/clock.ts";
import type { NameSource } from "../../ports/name-lookup.ts";
import type { OutboundRequest, Transport, TransportResult } from "../../ports/transport.ts";
import { CheckedNames } from "./checked-names.ts";
import { type ConnectionLimits, Connections } from "./connections.ts";
import { Deadlines, Exchange, type ExchangeOwner, type Expiring } from "./exchange.ts";
import { Dialer, parseProxyUrl } from "./dialer.ts";

/** Includes the connection limits, which apply to all origins together. */
export interface HttpTransportOptions extends ConnectionLimits {
  readonly addressPolicy: Pick<AddressPolicy, "judge">;
  readonly clock: Clock;
  /** `http://user:password@proxy:3128`: every request goes through this CONNECT proxy, which resolves names. */
  readonly proxyUrl?: string | undefined;
  /** Resolves the names of receivers; closed with the transport. */
  readonly dns: NameSource;
  /** Resolves the name of the proxy. */
  readonly proxyLookup?: LookupFunction | undefined;
  /** Certificates to trust instead of the system's, in PEM. Verification itself cannot be disabled. */
  readonly tls?: { readonly ca: string };
}

/**
 * HTTP/1.1 over undici and HTTP/2 over node:http2, one request per connection at a time. The guarantees are documented
 * in the port's header.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  return new HttpTransport(options);
}

const misdirectedStatus = 421;

class HttpTransport implements Transport, ExchangeOwner {
  readonly #clock: Clock;
  readonly #source: NameSource;
  readonly #names: CheckedNames;
  readonly #connections: Connections;
  readonly #deadlines: Deadlines;
  #closing: Promise<void> | null = null;

  constructor(options: HttpTransportOptions) {
    const { addressPolicy: policy, clock, proxyUrl } = options;
    this.#clock = clock;
    this.#source = options.dns;
    this.#names = new CheckedNames(this.#source, policy, clock);
    this.#deadlines = new Deadlines(clock);
    const proxy = proxyUrl === undefined ? null : parseProxyUrl(proxyUrl, options.proxyLookup);
    const dialer = new Dialer({ policy, names: this.#names, clock, ca: options.tls?.ca, proxy });
    this.#connections = new Connections(dialer, clock, options);
  }

  send(request: OutboundRequest): Promise<TransportResult> {
    return new Promise((resolve) => {
      const exchange = new Exchange(request, this, resolve);
      if (this.#closing !== null) return exchange.fail("network", "the transport is closed");
      this.#deadlines.add(exchange);
      this.#connections.run(exchange);
    });
  }

  openSockets(): number {
    return this.#connections.openCount;
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  repeats(exchange: Exchange): boolean {
    return this.#closing === null && this.#connections.repeat(exchange);
  }

  ended(exchange: Exchange, reusable: boolean): void {
    this.#deadlines.remove(exchange);
    const { pooled } = exchange;
    if (pooled !== null) this.#connections.release(pooled, reusable);
    if (exchange.status === misdirectedStatus) this.#misdirected(exchange.request.origin);
  }

  /**
   * Handles a 421: the receiver does not serve this host, so both the resolved IP addresses and the connections may be
   * outdated.
   */
  #misdirected(origin: string): void {
    this.#names.forget(new URL(origin).hostname);
    this.#connections.retire(origin);
  }

  async #end(): Promise<void> {
    this.#source.close();
    this.#deadlines.drain(failClosed);
    await this.#connections.close();
  }
}

function failClosed(item: Expiring): void {
  if (item instanceof Exchange) item.fail("network", "the transport was closed");
}
