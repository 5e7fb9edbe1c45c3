/** Stored record of how the requests of an attempt went over the wire. */

export const httpVersions = ["1.1", "2"] as const;
export type HttpVersion = (typeof httpVersions)[number];

/** Durations of the phases of an attempt in milliseconds; null for phases that were skipped or not reached. */
export interface AttemptTimings {
  readonly dnsMs: number | null;
  /** Time until the TCP connection or the proxy tunnel was established. */
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  /**
   * Starts when the connection is ready for the request; ends when the response head arrives or the attempt is
   * abandoned.
   */
  readonly waitMs: number | null;
}

export interface AttemptTrace {
  /** The requested URL, with tokens masked. */
  readonly url: string;
  readonly httpVersion: HttpVersion | null;
  readonly peerAddress: string | null;
  /** Flat name-value list in the order received, secrets masked. */
  readonly responseHeaders: readonly string[];
  readonly timings: AttemptTimings;
  /** Revision of the webhook configuration that was used for the request. */
  readonly configRevision: number;
  /** Whether the URL, values or whole headers were truncated or dropped to stay within the size limit. */
  readonly truncated: boolean;
}

/** Maximum size of a stored trace in bytes. */
export const traceBytesMax = 1024;

/** Accepted attempts are traced for one in this many deliveries. The delivery ID determines which ones. */
const tracedOneIn = 100;

/**
 * Whether the accepted attempts of a delivery are traced as well. The decision uses the end of the delivery's UUID,
 * which is random.
 */
export function isTraced(deliveryId: string): boolean {
  let number = 0;
  for (let at = Math.max(0, deliveryId.length - 6); at < deliveryId.length; at += 1)
    number = number * 16 + digitOf(deliveryId.charCodeAt(at));
  return number % tracedOneIn === 0;
}

function digitOf(code: number): number {
  return (code < 0x3a ? code - 0x30 : code - 0x57) & 15;
}

type PackedTrace = [
  url: string,
  httpVersion: number,
  peerAddress: string | null,
  timings: readonly (number | null)[],
  configRevision: number,
  truncated: 0 | 1,
  responseHeaders: readonly string[],
];

/** A compact JSON form of the trace. */
export function packTrace(trace: AttemptTrace): PackedTrace {
  const { dnsMs, connectMs, tlsMs, waitMs } = trace.timings;
  return [
    trace.url,
    trace.httpVersion === null ? -1 : httpVersions.indexOf(trace.httpVersion),
    trace.peerAddress,
    [dnsMs, connectMs, tlsMs, waitMs],
    trace.configRevision,
    trace.truncated ? 1 : 0,
    trace.responseHeaders,
  ];
}

/** Reverses `packTrace`; null for invalid input. */
export function unpackTrace(packed: unknown): AttemptTrace | null {
  if (!Array.isArray(packed) || packed.length < 7) return null;
  const [url, httpVersion, peerAddress, timings, configRevision, truncated, responseHeaders] =
    packed as PackedTrace;
  const [dnsMs = null, connectMs = null, tlsMs = null, waitMs = null] = timings;
  return {
    url,
    httpVersion: httpVersions[httpVersion] ?? null,
    peerAddress,
    responseHeaders,
    timings: { dnsMs, connectMs, tlsMs, waitMs },
    configRevision,
    truncated: truncated === 1,
  };
}

/** Shortens the trace to `traceBytesMax`: first truncates a long URL and long values, then drops the last headers. */
export function boundedTrace(trace: AttemptTrace): AttemptTrace {
  if (packedBytes(trace) <= traceBytesMax) return trace;
  const url = cutTo(trace.url, urlBytesMax);
  let kept: AttemptTrace = { ...trace, url, responseHeaders: [], truncated: true };
  let room = traceBytesMax - packedBytes(kept);
  const responseHeaders: string[] = [];
  for (let at = 0; at + 1 < trace.responseHeaders.length; at += 2) {
    const name = trace.responseHeaders[at] ?? "";
    const value = cutTo(trace.responseHeaders[at + 1] ?? "", valueBytesMax);
    const bytes = bytesOf(JSON.stringify([name, value]));
    if (bytes > room) continue;
    responseHeaders.push(name, value);
    room -= bytes;
  }
  kept = { ...kept, responseHeaders };
  return kept;
}

const urlBytesMax = 400;
const valueBytesMax = 160;

function packedBytes(trace: AttemptTrace): number {
  return bytesOf(JSON.stringify(packTrace(trace)));
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).byteLength;
}

/** The longest prefix of a string whose JSON form has at most `bytesMax` bytes. */
function cutTo(text: string, bytesMax: number): string {
  if (bytesOf(JSON.stringify(text)) <= bytesMax) return text;
  let end = Math.min(text.length, bytesMax);
  while (end > 0 && bytesOf(JSON.stringify(text.slice(0, end))) > bytesMax) end -= 1 + (end >> 4);
  return text.slice(0, Math.max(0, end));
}
