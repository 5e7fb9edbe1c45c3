/** How the requests of an attempt went over the wire, as far as that is kept. */

export const httpVersions = ["1.1", "2"] as const;
export type HttpVersion = (typeof httpVersions)[number];

/** Milliseconds of the parts of an attempt; null for what was not needed or not reached. */
export interface AttemptTimings {
  readonly dnsMs: number | null;
  /** Until the TCP connection stood, or the proxy's tunnel. */
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  /** From when the connection could take the request until the head of the answer, or until it was given up. */
  readonly waitMs: number | null;
}

export interface AttemptTrace {
  /** As it was requested, with tokens masked. */
  readonly url: string;
  readonly httpVersion: HttpVersion | null;
  readonly peerAddress: string | null;
  /** Flat name-value list in the order received, secrets masked. */
  readonly responseHeaders: readonly string[];
  readonly timings: AttemptTimings;
  /** Which revision of the webhook's configuration made the request. */
  readonly configRevision: number;
  /** The URL, values or whole headers were cut to keep the bound. */
  readonly truncated: boolean;
}

/** Bytes of a trace as it is stored. */
export const traceBytesMax = 1024;

/** Accepted attempts are traced for one delivery in this many, chosen by its id. */
const tracedOneIn = 100;

/** Whether the attempts of a delivery are traced even when they are accepted. Reads the end of its UUID, which is random. */
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

/** A trace in as little room as JSON allows. */
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

/** What `packTrace` gave; null for anything else. */
export function unpackTrace(packed: unknown): AttemptTrace | null {
  if (!Array.isArray(packed) || packed.length < 7) return null;
  const [url, httpVersion, peerAddress, timings, configRevision, truncated, responseHeaders] =
    packed as PackedTrace;
  const [dnsMs = null, connectMs = null, tlsMs = null, waitMs = null] = timings;
  return {
    ...{ url, httpVersion: httpVersions[httpVersion] ?? null, peerAddress, responseHeaders },
    ...{ timings: { dnsMs, connectMs, tlsMs, waitMs }, configRevision, truncated: truncated === 1 },
  };
}

/** The trace cut to `traceBytesMax` as it is stored: a long URL and long values first, then the last headers. */
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

/** The beginning of a text that takes so many bytes as JSON. */
function cutTo(text: string, bytesMax: number): string {
  if (bytesOf(JSON.stringify(text)) <= bytesMax) return text;
  let end = Math.min(text.length, bytesMax);
  while (end > 0 && bytesOf(JSON.stringify(text.slice(0, end))) > bytesMax) end -= 1 + (end >> 4);
  return text.slice(0, Math.max(0, end));
}
