import { connect as connectTcp, type Socket } from "node:net";
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
} from "node:tls";
import { codeOf } from "../../domain/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClientCertificate } from "../../ports/transport.ts";
import { TransportFault } from "./failures.ts";

interface StoredSession {
  readonly session: Buffer;
  readonly storedAtMs: number;
}

/** Each session takes about 2 kB. */
const sessionsMax = 4096;
/**
 * A resumed handshake does not check the certificate again, so a revoked certificate is trusted no longer than this.
 */
const sessionMsMax = 60 * 60_000;

/**
 * TLS sessions to resume, by receiver and presented identity: a resumed handshake costs both sides a third less.
 * undici's connector holds sessions weakly, so a session that is used once a minute would be garbage collected.
 */
export class TlsSessions {
  readonly #clock: Clock;
  /** Most recently stored last. */
  readonly #stored = new Map<string, StoredSession>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): Buffer | null {
    const stored = this.#stored.get(key);
    if (stored === undefined) return null;
    if (this.#clock.monotonicMs() - stored.storedAtMs < sessionMsMax) return stored.session;
    this.#stored.delete(key);
    return null;
  }

  set(key: string, session: Buffer): void {
    this.#stored.delete(key);
    this.#stored.set(key, { session, storedAtMs: this.#clock.monotonicMs() });
    const oldest = this.#stored.keys().next();
    if (this.#stored.size > sessionsMax && oldest.done !== true) this.#stored.delete(oldest.value);
  }
}

/** What a connection presents and offers in the TLS handshake. */
export interface TlsIdentity {
  /** Offers HTTP/2 before HTTP/1.1 (ALPN). */
  readonly http2: boolean;
  readonly clientCertificate: ClientCertificate | null;
}

const plainIdentity: TlsIdentity = { http2: false, clientCertificate: null };

/** The target of a socket. */
interface SocketTarget {
  readonly protocol: string;
  /** An IP address, or the host name if a proxy resolves it. */
  readonly hostname: string;
  /** Empty for the default port of the scheme. */
  readonly port: string;
  /** The name that the certificate must cover; absent if the host is an IP address. */
  readonly servername?: string;
  /** A tunnel to the target, through which the TLS connection is established. */
  readonly tunnel?: Socket;
}

type ConnectDone = (error: Error | null, socket: Socket) => void;
/** Deadlines belong to requests, so the connector keeps trying until it is destroyed. */
export type Connect = (target: SocketTarget, done: ConnectDone) => Socket;

/** Maximum number of parsed certificates; beyond the limit, a certificate only has to be parsed again. */
const connectorsMax = 256;
const probeAfterMs = 60_000;

/**
 * One connector per identity. TLS sessions are resumed only within it: a session keeps the certificate it began with,
 * and must not be used in a connection of another webhook.
 */
export class TlsIdentities {
  readonly #ca: string | undefined;
  readonly #sessions: TlsSessions;
  readonly #plain: Connect;
  /** Most recently used last. */
  readonly #others = new Map<string, Connect>();

  constructor(ca: string | undefined, clock: Clock) {
    this.#ca = ca;
    this.#sessions = new TlsSessions(clock);
    this.#plain = this.#connectorFor("h1", plainIdentity);
  }

  /** Throws a `TransportFault` when the certificate or its key cannot be used. */
  connectorOf(identity: TlsIdentity): Connect {
    const { http2, clientCertificate } = identity;
    if (!http2 && clientCertificate === null) return this.#plain;
    const key = `${http2 ? "h2" : "h1"} ${clientCertificate?.id ?? ""}`;
    const connect = this.#others.get(key) ?? this.#connectorFor(key, identity);
    this.#others.delete(key);
    this.#others.set(key, connect);
    const oldest = this.#others.keys().next();
    if (this.#others.size > connectorsMax && oldest.done !== true) this.#others.delete(oldest.value);
    return connect;
  }

  #connectorFor(identityKey: string, { http2, clientCertificate }: TlsIdentity): Connect {
    const trust = this.#ca === undefined ? {} : { ca: this.#ca };
    // Created once: Node would otherwise create one per connection.
    let secureContext = clientCertificate === null ? null : secureContextOf(clientCertificate, trust);
    const ALPNProtocols = http2 ? ["h2", "http/1.1"] : ["http/1.1"];
    return (target, done) => {
      if (target.protocol !== "https:") return connectPlainly(target, done);
      secureContext ??= createSecureContext(trust);
      const { servername, tunnel } = target;
      const address = { host: target.hostname, port: Number(target.port === "" ? 443 : target.port) };
      const sessionKey = `${servername ?? address.host}:${address.port} ${identityKey}`;
      const socket = connectTls({
        ...(tunnel === undefined ? { ...address, ...socketOptions } : { socket: tunnel }),
        ...(servername === undefined ? { host: address.host } : { servername }),
        secureContext,
        ALPNProtocols,
        rejectUnauthorized: true,
        session: this.#sessions.get(sessionKey) ?? undefined,
      });
      socket.on("session", (session) => this.#sessions.set(sessionKey, session));
      return reporting(socket, "secureConnect", done);
    };
  }
}

const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: probeAfterMs } as const;

function connectPlainly({ hostname, port }: SocketTarget, done: ConnectDone): Socket {
  const socket = connectTcp({ host: hostname, port: Number(port === "" ? 80 : port), ...socketOptions });
  return reporting(socket, "connect", done);
}

function reporting(socket: Socket, connected: "connect" | "secureConnect", done: ConnectDone): Socket {
  let report: ConnectDone | null = done;
  const end = (error: Error | null): void => {
    report?.(error, socket);
    report = null;
  };
  // The error listener stays: an unhandled error event would end the process.
  return socket.once(connected, () => end(null)).on("error", end);
}

function secureContextOf(certificate: ClientCertificate, trust: SecureContextOptions): SecureContext {
  const { certificatePem, privateKeyPem } = certificate;
  try {
    return createSecureContext({ ...trust, cert: certificatePem, key: privateKeyPem });
  } catch (error) {
    // Use our own message without the cause, because no part of the key may leak.
    const mismatch = codeOf(error) === "ERR_OSSL_X509_KEY_VALUES_MISMATCH";
    const problem = mismatch
      ? "the private key does not belong to the client certificate"
      : "the client certificate or its private key is not usable PEM (an encrypted key is not)";
    throw new TransportFault("ssl", `TLS: ${problem}`);
  }
}
