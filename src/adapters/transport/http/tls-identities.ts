import { createSecureContext } from "node:tls";
import type { SecureContext } from "node:tls";
import type { Socket } from "node:net";
import { buildConnector } from "undici";
import { codeOf } from "../../../core/thrown.ts";
import type { ClientCertificate } from "../../../ports/transport.ts";
import { TransportFault } from "./failures.ts";

/** What a connection shows and offers in the TLS handshake. */
export interface TlsIdentity {
  /** Offers HTTP/2 before HTTP/1.1 (ALPN). */
  readonly http2: boolean;
  readonly clientCertificate: ClientCertificate | null;
}

const plainIdentity: TlsIdentity = { http2: false, clientCertificate: null };

export type Connect = (options: buildConnector.Options, callback: buildConnector.Callback) => Socket;

const tlsSessionsMax = 1000;
/** Certificates that are parsed at one time; one more costs parsing again. */
const connectorsMax = 256;

/**
 * One undici connector for each identity. TLS sessions are resumed within a connector only: a session carries the
 * certificate it began with, and must not turn up in a connection of somebody else.
 */
export class TlsIdentities {
  readonly #ca: string | undefined;
  readonly #plain: Connect;
  /** Most recently used last. */
  readonly #others = new Map<string, Connect>();

  constructor(ca: string | undefined) {
    this.#ca = ca;
    this.#plain = connectorFor({ ca, identity: plainIdentity });
  }

  /** Throws a `TransportFault` when the certificate or its key cannot be used. */
  connectorOf(identity: TlsIdentity): Connect {
    const { http2, clientCertificate } = identity;
    if (!http2 && clientCertificate === null) return this.#plain;
    const key = `${http2 ? "h2" : "h1"} ${clientCertificate?.id ?? ""}`;
    const connect = this.#others.get(key) ?? connectorFor({ ca: this.#ca, identity });
    this.#others.delete(key);
    this.#others.set(key, connect);
    const oldest = this.#others.keys().next();
    if (this.#others.size > connectorsMax && oldest.done !== true) this.#others.delete(oldest.value);
    return connect;
  }
}

function connectorFor({ ca, identity }: { ca: string | undefined; identity: TlsIdentity }): Connect {
  const { http2, clientCertificate } = identity;
  const trust = ca === undefined ? {} : { ca };
  const material =
    clientCertificate === null ? trust : { secureContext: secureContextOf(clientCertificate, trust) };
  // Deadlines belong to requests, so the connector's own timeout is off. It returns the socket although its type
  // does not say so; without it a connection that is being made could not be given up.
  return buildConnector({
    ...material,
    allowH2: http2,
    preferH2: http2,
    timeout: 0,
    maxCachedSessions: tlsSessionsMax,
    rejectUnauthorized: true,
  }) as unknown as Connect;
}

function secureContextOf(certificate: ClientCertificate, trust: { ca?: string }): SecureContext {
  const { certificatePem, privateKeyPem } = certificate;
  try {
    return createSecureContext({ ...trust, cert: certificatePem, key: privateKeyPem });
  } catch (error) {
    // In our words, and without the cause: nothing of the key may get out.
    const mismatch = codeOf(error) === "ERR_OSSL_X509_KEY_VALUES_MISMATCH";
    const problem = mismatch
      ? "the private key does not belong to the client certificate"
      : "the client certificate or its private key is not usable PEM (an encrypted key is not)";
    throw new TransportFault("ssl", `TLS: ${problem}`);
  }
}
