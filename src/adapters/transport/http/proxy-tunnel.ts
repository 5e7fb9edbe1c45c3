import { connect as connectTcp, isIPv6 } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { DialDone, DialTarget } from "./dialer.ts";
import { sentence, shortageOf, TransportFault } from "./failures.ts";

/** An HTTP CONNECT proxy. */
export interface Proxy {
  readonly secure: boolean;
  readonly hostname: string;
  readonly portNumber: number;
  /** Replaces the system's resolver. */
  readonly lookup: LookupFunction | undefined;
  /** Value of `Proxy-Authorization`; never shown. */
  readonly authorization: string | null;
}

export interface Tunnel {
  abort(): void;
}

const answerBytesMax = 16 * 1024;
const headEnd = "\r\n\r\n";

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
 * through the proxy, and one place where it decides.
 */
export function openTunnel(proxy: Proxy, target: DialTarget, done: DialDone): Tunnel {
  const socket = connectTo(proxy);
  let finish: DialDone | null = done;
  let answer = Buffer.alloc(0);
  const end = (fault: TransportFault | null): void => {
    const report = finish;
    finish = null;
    socket.off("data", onData);
    if (fault === null) socket.off("error", onError).off("close", onClose);
    else socket.destroy();
    report?.(fault, fault === null ? socket : null);
  };
  const onError = (error: Error): void =>
    end(new TransportFault("network", sentence(`proxy: ${error.message}`), shortageOf(error)));
  const onClose = (): void => end(new TransportFault("network", "proxy closed the connection"));
  const onData = (chunk: Buffer): void => {
    answer = Buffer.concat([answer, chunk]);
    const headLength = answer.indexOf(headEnd);
    if (headLength < 0) {
      if (answer.length > answerBytesMax) end(new TransportFault("network", "proxy answer is too large"));
      return;
    }
    const refused = refusedBy(answer.toString("latin1", 0, headLength));
    if (refused !== null) return end(refused);
    const rest = answer.subarray(headLength + headEnd.length);
    socket.pause();
    if (rest.length > 0) socket.unshift(rest);
    end(null);
  };
  socket.once(proxy.secure ? "secureConnect" : "connect", () => socket.write(connectRequest(proxy, target)));
  socket.on("error", onError).on("close", onClose).on("data", onData);
  return {
    abort: () => {
      finish = null;
      socket.destroy();
    },
  };
}

function connectTo(proxy: Proxy): Socket {
  const { hostname: host, portNumber: port, lookup } = proxy;
  const address = { host, port, ...(lookup !== undefined && { lookup }) };
  const socket = proxy.secure ? connectTls({ ...address, servername: proxy.hostname }) : connectTcp(address);
  return socket.setNoDelay(true).setKeepAlive(true);
}

function connectRequest(proxy: Proxy, target: DialTarget): string {
  const host = isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname;
  const port = portOf(target.port, target.protocol);
  const lines = [`CONNECT ${host}:${port} HTTP/1.1`, `Host: ${host}:${port}`];
  if (proxy.authorization !== null) lines.push(`Proxy-Authorization: ${proxy.authorization}`);
  return `${lines.join("\r\n")}${headEnd}`;
}

function refusedBy(head: string): TransportFault | null {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
  if (status === undefined) return new TransportFault("network", "proxy did not answer in HTTP");
  if (status.startsWith("2")) return null;
  return new TransportFault("network", `proxy refused the tunnel with status ${status}`);
}

function portOf(port: string, protocol: string): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}
