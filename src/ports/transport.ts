import type { AttemptObservation } from "../core/outcome.ts";

/**
 * Sends one HTTP request and reports what it saw.
 *
 * Promises, kept by every adapter and proved by test/conformance/transport:
 * - never throws and never rejects: each thing that can go wrong is a result;
 * - ends within `timeoutMs` whatever the receiver does (hang, drip, endless body), connect included;
 * - reads at most `responseSampleBytesMax` into the sample and a bounded number of bytes beyond, then drops the
 *   connection;
 * - never follows a redirect, never sends to an address that the address policy refuses, for names and literals
 *   alike, and judges the address of the socket before a byte of the request is sent;
 * - always verifies the certificate.
 */
export interface Transport {
  send(request: OutboundRequest): Promise<TransportResult>;
  /** Sockets open now, idle ones included. */
  openSockets(): number;
  /** Ends idle connections and aborts what is in flight. Safe to call twice. */
  close(): Promise<void>;
}

/** One POST, ready to send. */
export interface OutboundRequest {
  /** `https://host:port`, as normalised by the URL policy. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Flat name-value list, in the order and letter case they go on the wire. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  readonly timeoutMs: number;
}

/** What one request saw; small enough to keep. */
export interface TransportResult {
  readonly observation: AttemptObservation;
  /** The first bytes of the response body, at most `responseSampleBytesMax`. */
  readonly responseSample: Uint8Array | null;
  /** `Location` of a redirect, for the owner to see; never followed. */
  readonly location: string | null;
  /** One sentence without secrets: `connect ECONNREFUSED 10.1.2.3:443`. Null for complete responses. */
  readonly errorMessage: string | null;
  readonly durationMs: number;
}

/** WDS-202. */
export const responseSampleBytesMax = 1024;
