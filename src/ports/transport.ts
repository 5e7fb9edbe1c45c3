import type { AttemptTimings, HttpVersion } from "../domain/attempt-trace.ts";
import type { AttemptObservation } from "../domain/classify.ts";

/**
 * Sends one HTTP request and reports the result.
 *
 * Promises, kept by every adapter and proved by test/conformance/transport:
 * - never throws and never rejects: every possible failure is a result;
 * - ends within `timeoutMs` including connect, regardless of what the receiver does (hang, drip, endless body);
 * - keeps at most `responseBodyBytesMax` bytes of the body and reads a limited number beyond that, then drops
 *   the connection;
 * - never follows a redirect, never sends to an address that the address policy refuses, for names and literals
 *   alike, and checks the address of the socket before a byte of the request is sent;
 * - always verifies the certificate;
 * - a request that this machine could not send, for lack of a descriptor, a port or memory, has a `shortage`;
 * - a request that HTTP cannot carry, such as one with a line break in a header, is `malformed`;
 * - connections are pooled by origin, client certificate and HTTP version, and never shared across these;
 * - if the sending thread dies, a request that may have been in flight ends as a failure with `requestSent`.
 */
export interface Transport {
  send(request: OutboundRequest): Promise<TransportResult>;
  /** Number of open sockets, including idle ones. */
  openSockets(): number;
  /** Closes idle connections and aborts requests in flight. Safe to call twice. */
  close(): Promise<void>;
}

/** POST is used for deliveries and tokens, the other methods for handshakes with a receiver. */
export type OutboundMethod = "POST" | "PUT" | "OPTIONS" | "GET";

/** One request, ready to send. */
export interface OutboundRequest {
  readonly method: OutboundMethod;
  /** `https://host:port`, as normalised by the URL policy. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Flat name-value list, in the order and case in which the headers are sent. HTTP/2 lowercases the names. */
  readonly headers: readonly string[];
  /** Empty for OPTIONS and GET. These are sent without `Content-Length`, and should have no `Content-Type`. */
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  /** Whether to offer HTTP/2 to an `https:` receiver, with HTTP/1.1 as fallback. `http:` always uses HTTP/1.1. */
  readonly http2: boolean;
  /** The client certificate for an `https:` receiver that requests one. */
  readonly clientCertificate: ClientCertificate | null;
  /**
   * Maximum bytes of the response body to keep for responses that are evaluated, up to `responseBodyBytesMaxAllowed`.
   * Defaults to `responseSampleBytesMax`.
   */
  readonly responseBodyBytesMax?: number;
  /** Whether the result of a 2xx response also includes `trace`. All other results always include it. */
  readonly traced?: boolean;
}

/** A certificate for mutual TLS. Connections that use it serve only requests with the same `id`. */
export interface ClientCertificate {
  /** Globally unique. Changes when the certificate or the key changes. */
  readonly id: string;
  /** The certificate and its intermediate certificates. */
  readonly certificatePem: string;
  /** The private key. Never part of a message. */
  readonly privateKeyPem: string;
}

/** The result of one request, small enough to be stored. */
export interface TransportResult {
  readonly observation: AttemptObservation;
  /**
   * The first bytes of the response body, up to `responseSampleBytesMax` unless the request set `responseBodyBytesMax`.
   * Known content codings are decoded. A sample for display (without `responseBodyBytesMax`) is converted to UTF-8 if a
   * charset is given.
   */
  readonly responseSample: Uint8Array | null;
  /** `noResponseFields` if the response has none of these fields. */
  readonly fields: ResponseFields;
  /**
   * One sentence without secrets, and without private addresses unless the URL contains them: `connect ECONNREFUSED
   * ***:443`. Null for complete responses.
   */
  readonly errorMessage: string | null;
  readonly durationMs: number;
  /** Set only if this machine could not send the request. Such a failure says nothing about the receiver. */
  readonly shortage?: Shortage;
  /** Set only if HTTP cannot carry the request. The request was not sent, and the receiver is not the cause. */
  readonly malformed?: true;
  /** Absent for complete 2xx responses unless requested, so that ordinary requests allocate no object. */
  readonly trace?: WireTrace;
}

/** How a request went over the wire. Values for steps that were not reached are null. */
export interface WireTrace {
  readonly httpVersion: HttpVersion | null;
  /** The IP address that was connected to, or that was tried last; null if only a proxy has that information. */
  readonly peerAddress: string | null;
  /** Flat name-value list with lowercase names, as received. Secrets are not masked; that is up to the reader. */
  readonly responseHeaders: readonly string[];
  /** Whether some headers, or the ends of their values, are missing. */
  readonly headersCut: boolean;
  readonly timings: AttemptTimings;
}

/** Machine resources whose exhaustion can prevent a request from being sent. */
export type Shortage = "descriptors" | "ports" | "buffers" | "threads";

/** Explains each shortage to operators. */
export const shortageTexts: Readonly<Record<Shortage, string>> = {
  descriptors:
    "no file descriptor is left; raise the limit (ulimit -n), or lower POSTHORN_MAX_CONNECTIONS or POSTHORN_CONCURRENCY",
  ports:
    "no local port is left for connections to a receiver; widen net.ipv4.ip_local_port_range, or lower POSTHORN_CONCURRENCY",
  buffers: "the system has no memory left for sockets",
  threads:
    "a sender thread could not start, because memory or its program is missing; POSTHORN_SENDER_THREADS=0 disables these threads",
};

/**
 * The response fields that are evaluated, in addition to `Retry-After` in the observation. Absent fields are omitted,
 * long ones are truncated to `responseFieldLengthMax` characters, and repeated ones keep their first value.
 */
export interface ResponseFields {
  /** Set only for redirects (3xx). It is shown to the owner, and never followed. */
  readonly location?: string;
  /** When the resource will become unavailable (RFC 8594). */
  readonly sunset?: string;
  /** The origins that may send (CEW-4.2). */
  readonly "webhook-allowed-origin"?: string;
  /** The allowed requests per minute (CEW-4.2). */
  readonly "webhook-allowed-rate"?: string;
  readonly allow?: string;
  /**
   * Set only if the request set `responseBodyBytesMax`. Nearly every response has a content type, but no other caller
   * needs it.
   */
  readonly "content-type"?: string;
  readonly "www-authenticate"?: string;
}

/** Shared, so that an ordinary response allocates no object. */
export const noResponseFields: ResponseFields = Object.freeze({});

/** Maximum bytes of the stored sample (WDS-202). */
export const responseSampleBytesMax = 1024;
/** Maximum bytes for echoed challenges and access tokens. */
export const responseBodyBytesMaxAllowed = 64 * 1024;
/** Maximum length of one field of `ResponseFields`. */
export const responseFieldLengthMax = 2048;
/** Maximum number of headers in a `WireTrace`. */
export const tracedFieldsMax = 40;
/** Maximum total characters of all names and values of these headers. */
export const tracedCharactersMax = 4096;
/** Maximum length of `Retry-After` in an observation. Longer values are truncated. */
export const retryAfterLengthMax = 256;
