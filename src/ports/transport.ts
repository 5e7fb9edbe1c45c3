import type { AttemptTimings, HttpVersion } from "../core/attempt-trace.ts";
import type { AttemptObservation } from "../core/outcome.ts";

/**
 * Sends one HTTP request and reports what it saw.
 *
 * Promises, kept by every adapter and proved by test/conformance/transport:
 * - never throws and never rejects: each thing that can go wrong is a result;
 * - ends within `timeoutMs` whatever the receiver does (hang, drip, endless body), connect included;
 * - keeps at most `responseBodyBytesMax` bytes of the body and reads a bounded number beyond, then drops the
 *   connection;
 * - never follows a redirect, never sends to an address that the address policy refuses, for names and literals
 *   alike, and judges the address of the socket before a byte of the request is sent;
 * - always verifies the certificate;
 * - a request that this machine could not make, for want of a descriptor, a port or memory, says so by its `shortage`;
 * - a request that HTTP cannot carry, such as one with a line break in a header, is `malformed`;
 * - connections differ by origin, client certificate and whether HTTP/2 was asked for, and are never mixed;
 * - when what sends it dies, a request that may have been on its way ends as a failure with `requestSent`.
 */
export interface Transport {
  send(request: OutboundRequest): Promise<TransportResult>;
  /** Sockets open now, idle ones included. */
  openSockets(): number;
  /** Ends idle connections and aborts what is in flight. Safe to call twice. */
  close(): Promise<void>;
}

/** POST for deliveries and tokens; the others for handshakes with a receiver. */
export type OutboundMethod = "POST" | "PUT" | "OPTIONS" | "GET";

/** One request, ready to send. */
export interface OutboundRequest {
  readonly method: OutboundMethod;
  /** `https://host:port`, as normalised by the URL policy. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Flat name-value list, in the order and letter case they go on the wire; HTTP/2 makes the names lower case. */
  readonly headers: readonly string[];
  /** Empty for OPTIONS and GET: they then carry no `Content-Length`, and should be given no `Content-Type`. */
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  /** Offers HTTP/2 to an `https:` receiver; one that does not choose it gets HTTP/1.1. `http:` is always HTTP/1.1. */
  readonly http2: boolean;
  /** What to show to an `https:` receiver that asks for a certificate. */
  readonly clientCertificate: ClientCertificate | null;
  /**
   * Bytes of the response body to keep, for the few answers that somebody reads: at most
   * `responseBodyBytesMaxAllowed`. `responseSampleBytesMax` when absent.
   */
  readonly responseBodyBytesMax?: number;
  /** Asks for the `trace` of an answer of class 2xx too. Whatever else came of it has one. */
  readonly traced?: boolean;
}

/** A certificate for mutual TLS. Connections made with it serve only requests that carry the same `id`. */
export interface ClientCertificate {
  /** Unique over all owners, and another one when certificate or key change. */
  readonly id: string;
  /** The certificate, and those between it and the authority. */
  readonly certificatePem: string;
  /** Never part of a message. */
  readonly privateKeyPem: string;
}

/** What one request saw; small enough to keep. */
export interface TransportResult {
  readonly observation: AttemptObservation;
  /**
   * The first bytes of the response body, at most `responseSampleBytesMax` unless the request asked for more. Content codings
   * are undone where they are known, and a sample for people (no `responseBodyBytesMax`) is UTF-8 where a charset is named.
   */
  readonly responseSample: Uint8Array | null;
  /** `noResponseFields` when none of them came. */
  readonly fields: ResponseFields;
  /**
   * One sentence without secrets, and without addresses that are not public unless the URL names them:
   * `connect ECONNREFUSED ***:443`. Null for complete responses.
   */
  readonly errorMessage: string | null;
  readonly durationMs: number;
  /** Only where this machine could not make the request: it was not sent, and that tells nothing of the receiver. */
  readonly shortage?: Shortage;
  /** Only where the request has a form that HTTP cannot carry. It was not sent, and the receiver is not to blame. */
  readonly malformed?: true;
  /** Absent for complete answers of class 2xx that nobody asked it for: the usual request costs no object. */
  readonly trace?: WireTrace;
}

/** How a request went over the wire. What it did not come to is null. */
export interface WireTrace {
  readonly httpVersion: HttpVersion | null;
  /** The address that was connected to, or tried last; null where a proxy knows it. */
  readonly peerAddress: string | null;
  /** Flat name-value list with names in lower case, as received: secrets are the reader's matter. */
  readonly responseHeaders: readonly string[];
  /** Some headers or ends of their values are missing. */
  readonly headersCut: boolean;
  readonly timings: AttemptTimings;
}

/** What a machine may lack for a request. */
export type Shortage = "descriptors" | "ports" | "buffers" | "threads";

/** What each shortage means to whoever runs the machine. */
export const shortageTexts: Readonly<Record<Shortage, string>> = {
  descriptors:
    "no file descriptor is left; raise the limit (ulimit -n), or lower POSTHORN_MAX_CONNECTIONS or POSTHORN_CONCURRENCY",
  ports:
    "no local port is left for connections to a receiver; widen net.ipv4.ip_local_port_range, or lower POSTHORN_CONCURRENCY",
  buffers: "the system has no memory left for sockets",
  threads:
    "a thread that sends could not be started, for want of memory or of its program; POSTHORN_SENDER_THREADS=0 sends without",
};

/**
 * The response fields that somebody looks at, beside `Retry-After` in the observation. Absent ones are left out, long
 * ones are cut at `responseFieldLengthMax` characters, and of repeated ones this is the first.
 */
export interface ResponseFields {
  /** Of a redirect (3xx) only, for the owner to see; never followed. */
  readonly location?: string;
  /** RFC 8594: when the resource is going to be gone. */
  readonly sunset?: string;
  /** CEW-4.2: who may send. */
  readonly "webhook-allowed-origin"?: string;
  /** CEW-4.2: how many requests per minute. */
  readonly "webhook-allowed-rate"?: string;
  readonly allow?: string;
  /** Only when the request set `responseBodyBytesMax`: nearly every answer has one, and nobody else asks. */
  readonly "content-type"?: string;
  readonly "www-authenticate"?: string;
}

/** Shared, so that an ordinary answer costs no object. */
export const noResponseFields: ResponseFields = Object.freeze({});

/** WDS-202. */
export const responseSampleBytesMax = 1024;
/** For echoed challenges and access tokens. */
export const responseBodyBytesMaxAllowed = 64 * 1024;
/** Characters of one field of `ResponseFields`. */
export const responseFieldLengthMax = 2048;
/** Fields of an answer in a `WireTrace`. */
export const tracedFieldsMax = 40;
/** Characters of all their names and values together. */
export const tracedCharactersMax = 4096;
/** Characters of `Retry-After` in an observation: a longer one is cut. */
export const retryAfterLengthMax = 256;
