import { request as requestTcp } from "node:http";
import { request as requestTls } from "node:https";
import { isIP, isIPv6, type LookupFunction, type Socket } from "node:net";
import type { AddressPolicy } from "../../domain/egress/address-policy.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import { type CheckedNames, refusal } from "./checked-names.ts";
import { DialTimes } from "./connection.ts";
import { codeOf } from "../../domain/thrown.ts";
import { connectFaultOf, sentence, shortageOf, TransportFault } from "./failures.ts";
import { type Connect, TlsIdentities, type TlsIdentity } from "./tls-identities.ts";

/** The target that undici wants to connect to. `port` is empty for the scheme's default. */
export interface DialTarget {
  readonly protocol: string;
  /** Host name without the brackets of IPv6 addresses. */
  readonly hostname: string;
  readonly port: string;
}

type DialDone = (fault: TransportFault | null, socket: Socket | null) => void;

/** A connection being opened. `abort` releases everything it holds and prevents `done` from being called. */
export interface Dial {
  /** Progress of the attempt; also available after it ended. */
  readonly times: DialTimes;
  abort(): void;
}

interface Route {
  readonly target: DialTarget;
  readonly connect: Connect;
  readonly times: DialTimes;
}

interface DialerParts {
  readonly policy: Pick<AddressPolicy, "judge">;
  readonly names: CheckedNames;
  readonly clock: Clock;
  readonly ca: string | undefined;
  readonly proxy: Proxy | null;
}

/** RFC 8305: how long an attempt may remain pending before the next IP address is tried in parallel. */
const attemptHeadStartMs = 250;

/**
 * Opens the connections: checks the IP address first, connects to exactly that address, and checks the socket's remote
 * address before handing it over. TLS verifies the certificate against the name.
 *
 * With a proxy, the proxy resolves names and connects, so only URLs with a literal IP address can be checked here.
 * The proxy (for example smokescreen) checks the others. The proxy's own address is the operator's choice and is not
 * checked.
 */
export class Dialer {
  readonly #parts: DialerParts;
  readonly #identities: TlsIdentities;

  constructor(parts: DialerParts) {
    this.#parts = parts;
    this.#identities = new TlsIdentities(parts.ca, parts.clock);
  }

  dial(target: DialTarget, identity: TlsIdentity, done: DialDone): Dial {
    const times = new DialTimes(this.#parts.clock);
    const literal = isIP(target.hostname) !== 0;
    const refused = literal ? refusal(this.#parts.policy, target.hostname) : null;
    if (refused !== null) return failSoon(times, refused, done);
    let connect: Connect;
    try {
      connect = this.#identities.connectorOf(identity);
    } catch (error) {
      return failSoon(times, connectFaultOf(error, target.protocol), done);
    }
    const route = { target, connect, times };
    if (this.#parts.proxy !== null) return this.#dialThrough(this.#parts.proxy, route, done);
    if (literal) return this.#race(route, [target.hostname], done);
    return this.#dialName(route, done);
  }

  #dialName(route: Route, done: DialDone): Dial {
    const { target } = route;
    let aborted = false;
    let race: Dial | null = null;
    this.#parts.names.addressesOf(target.hostname).then(
      (addresses) => {
        route.times.resolved();
        if (!aborted) race = this.#race(route, addresses, done);
      },
      (error: unknown) => {
        if (!aborted) done(connectFaultOf(error, target.protocol), null);
      },
    );
    return {
      times: route.times,
      abort: () => {
        aborted = true;
        race?.abort();
      },
    };
  }

  #race(route: Route, addresses: readonly string[], done: DialDone): Dial {
    const { clock, names } = this.#parts;
    const attempt = (address: string, attemptDone: DialDone): Socket =>
      this.#attempt(route, address, attemptDone);
    const race = new AddressRace(addresses, attempt, clock).start((fault, socket) => {
      // The receiver may have moved: resolve its name again next time.
      if (fault !== null) names.forget(route.target.hostname);
      done(fault, socket);
    });
    return { times: route.times, abort: () => race.abort() };
  }

  #attempt({ target, connect, times }: Route, address: string, done: DialDone): Socket {
    times.peerAddress = address;
    const made = connect({ ...target, hostname: address, ...servernameOf(target) }, (error, socket) => {
      if (error !== null) return done(connectFaultOf(error, target.protocol), null);
      const remote = socket.remoteAddress;
      if (remote === undefined)
        return done(new TransportFault("network", "connection closed immediately"), null);
      const refused = refusal(this.#parts.policy, remote);
      times.peerAddress = remote;
      if (target.protocol === "https:") times.secured();
      if (refused === null) return done(null, socket);
      socket.destroy();
      return done(refused, null);
    });
    // If IP addresses were tried in parallel, the last one that connected counts; almost always there is only one.
    return made.prependOnceListener("connect", () => times.connected());
  }

  #dialThrough(proxy: Proxy, { target, connect, times }: Route, done: DialDone): Dial {
    let secured: Socket | null = null;
    const tunnel: Tunnel = openTunnel(proxy, target, (fault, socket) => {
      if (socket !== null) times.connected();
      if (socket === null || target.protocol !== "https:") return done(fault, socket);
      secured = connect({ ...target, ...servernameOf(target), tunnel: socket }, (error, tlsSocket) => {
        if (error === null) {
          times.secured();
          return done(null, tlsSocket);
        }
        tunnel.abort();
        return done(connectFaultOf(error, target.protocol), null);
      });
    });
    return {
      times,
      abort: () => {
        secured?.destroy();
        tunnel.abort();
      },
    };
  }
}

/**
 * Only host names are sent in the handshake (SNI). If the host is an IP address, the certificate is checked against it.
 */
function servernameOf(target: DialTarget): { servername?: string } {
  if (target.protocol !== "https:" || isIP(target.hostname) !== 0) return {};
  return { servername: target.hostname };
}

function failSoon(times: DialTimes, fault: TransportFault, done: DialDone): Dial {
  let aborted = false;
  queueMicrotask(() => {
    if (!aborted) done(fault, null);
  });
  return {
    times,
    abort: () => {
      aborted = true;
    },
  };
}

/** Tries IP addresses one after another, and in parallel if one does not respond; the first connection wins. */
class AddressRace implements Pick<Dial, "abort"> {
  readonly #addresses: readonly string[];
  readonly #attempt: (address: string, done: DialDone) => Socket;
  readonly #clock: Clock;
  readonly #sockets = new Set<Socket>();
  #next = 0;
  #timer: Timer | null = null;
  /** The first fault caused by this machine, otherwise the first fault. */
  #fault: TransportFault | null = null;
  #done: DialDone | null = null;

  constructor(
    addresses: readonly string[],
    attempt: (address: string, done: DialDone) => Socket,
    clock: Clock,
  ) {
    this.#addresses = addresses;
    this.#attempt = attempt;
    this.#clock = clock;
  }

  start(done: DialDone): this {
    this.#done = done;
    this.#tryNext();
    return this;
  }

  abort(): void {
    this.#done = null;
    this.#timer?.cancel();
    for (const socket of this.#sockets) socket.destroy();
  }

  #tryNext(): void {
    const address = this.#addresses[this.#next++];
    if (address === undefined) return;
    this.#timer?.cancel();
    this.#begin(address);
    if (this.#next < this.#addresses.length) {
      this.#timer = this.#clock.schedule(attemptHeadStartMs, () => this.#tryNext());
    }
  }

  #begin(address: string): void {
    try {
      const socket = this.#attempt(address, (fault, connected) => {
        this.#sockets.delete(socket);
        if (connected !== null) this.#win(connected);
        else this.#lose(fault);
      });
      this.#sockets.add(socket);
    } catch (error) {
      // Unusable TLS material throws here. Outside any request's call stack, the exception would end the process.
      queueMicrotask(() => this.#lose(connectFaultOf(error, "https:")));
    }
  }

  #win(socket: Socket): void {
    const done = this.#done;
    this.abort();
    if (done === null) socket.destroy();
    else done(null, socket);
  }

  #lose(fault: TransportFault | null): void {
    if (this.#done === null) return;
    // If this machine had not lacked a resource, it might have reached the IP address, so the other faults do not
    // explain the failure completely.
    const isOurs = fault !== null && fault.shortage !== null;
    if (this.#fault === null || (isOurs && this.#fault.shortage === null)) this.#fault = fault;
    if (this.#next < this.#addresses.length) this.#tryNext();
    else if (this.#sockets.size === 0) this.#end();
  }

  #end(): void {
    const done = this.#done;
    const fault = this.#fault ?? new TransportFault("network", "no address to connect to");
    this.abort();
    done?.(fault, null);
  }
}

/** An HTTP CONNECT proxy. */
interface Proxy {
  readonly secure: boolean;
  readonly hostname: string;
  readonly portNumber: number;
  /** Used in place of the system's resolver. */
  readonly lookup: LookupFunction | undefined;
  /** Value of `Proxy-Authorization`; never shown. */
  readonly authorization: string | null;
}

interface Tunnel {
  abort(): void;
}

/** Throws a `TypeError` unless it is an `http:` or `https:` URL. */
export function parseProxyUrl(text: string, lookup?: LookupFunction): Proxy {
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`a proxy URL starts with http: or https:, not ${url.protocol}`);
  }
  const secure = url.protocol === "https:";
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    secure,
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    portNumber: portOf(url.port, url.protocol),
    lookup,
    authorization: url.username === "" ? null : `Basic ${Buffer.from(credentials).toString("base64")}`,
  };
}

/**
 * Requests a connection to `target` from the proxy. `http:` targets are tunnelled as well, so that there is one path
 * through the proxy, and one place where access is decided.
 */
function openTunnel(proxy: Proxy, target: DialTarget, done: DialDone): Tunnel {
  const host = isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname;
  const authority = `${host}:${portOf(target.port, target.protocol)}`;
  const request = (proxy.secure ? requestTls : requestTcp)({
    method: "CONNECT",
    path: authority,
    host: proxy.hostname,
    port: proxy.portNumber,
    servername: isIP(proxy.hostname) === 0 ? proxy.hostname : "",
    lookup: proxy.lookup,
    agent: false,
    headers: { Host: authority },
  });
  let report: DialDone | null = done;
  let tunnel: Socket | null = null;
  const fail = (fault: TransportFault): void => {
    request.destroy();
    report?.(fault, null);
    report = null;
  };
  // By default, Node would ask the proxy to close the connection.
  request.removeHeader("Connection");
  if (proxy.authorization !== null) request.setHeader("Proxy-Authorization", proxy.authorization);
  request.setNoDelay(true);
  request.setSocketKeepAlive(true);
  request.on("error", (error) => fail(proxyFault(error)));
  request.on("connect", ({ statusCode = 0 }, socket: Socket, rest) => {
    if (statusCode < 200 || statusCode > 299) {
      fail(new TransportFault("network", `proxy refused the tunnel with status ${statusCode}`));
      return;
    }
    tunnel = socket;
    if (rest.length > 0) socket.unshift(rest);
    report?.(null, socket);
  });
  request.end();
  return {
    abort: () => {
      report = null;
      (tunnel ?? request).destroy();
    },
  };
}

function proxyFault(error: Error): TransportFault {
  const code = codeOf(error) ?? "";
  if (code === "HPE_HEADER_OVERFLOW") return new TransportFault("network", "proxy response is too large");
  if (code.startsWith("HPE_")) return new TransportFault("network", "proxy did not respond with HTTP");
  if (error.message === "socket hang up") return new TransportFault("network", "proxy closed the connection");
  return new TransportFault("network", sentence(`proxy: ${error.message}`), shortageOf(error));
}

function portOf(port: string, protocol: string): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}
