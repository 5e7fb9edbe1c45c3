import { Buffer } from "node:buffer";

/** The position in a trace at which an event was published, as defined by W3C Trace Context. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** The publisher's span, 16 digits. */
  readonly spanId: string;
  /** One byte; see `sampledFlag`. */
  readonly flags: number;
  /** `tracestate`: vendor data. */
  readonly state: string | null;
}

/** The flag that states that the publisher records its trace. */
export const sampledFlag = 1;
/** The flag that states that the trace ID is random enough for sampling (level 2 of the specification). */
export const randomFlag = 2;

export const traceStateLengthMax = 512;

/** Version, trace, span, flags. Later versions may append more. */
const traceparentForm = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const traceparentLengthMax = 128;
const zeros = /^0+$/;

/** Null for an invalid `traceparent`, which the specification says to ignore. An invalid `tracestate` is omitted. */
export function parseTraceContext(traceparent: unknown, tracestate?: unknown): TraceContext | null {
  if (typeof traceparent !== "string" || traceparent.length > traceparentLengthMax) return null;
  const [, version, traceId = "", spanId = "", flags = "", more] = traceparentForm.exec(traceparent) ?? [];
  if (version === undefined || version === "ff" || zeros.test(traceId) || zeros.test(spanId)) return null;
  if (version === "00" && more !== undefined) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16), state: readState(tracestate) };
}

/** One member: a key, optionally with a system ID, and a printable value. */
const member =
  /^[a-z0-9][a-z0-9_*/-]{0,255}(?:@[a-z][a-z0-9_*/-]{0,13})?=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;
const membersMax = 32;

function readState(text: unknown): string | null {
  if (typeof text !== "string" || text.length > traceStateLengthMax) return null;
  const members = text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
  const isValid =
    members.length > 0 && members.length <= membersMax && members.every((one) => member.test(one));
  return isValid ? members.join(",") : null;
}

/** The value of a `traceparent` header. */
export function traceparentOf(context: Omit<TraceContext, "state">): string {
  return `00-${context.traceId}-${context.spanId}-${context.flags.toString(16).padStart(2, "0")}`;
}

const traceBytes = 16;
const contextBytes = 25;

/** The stored form: 25 bytes followed by the text of `tracestate`. */
export function packTraceContext({ traceId, spanId, flags, state }: TraceContext): Uint8Array {
  const head = Buffer.from(traceId + spanId + flags.toString(16).padStart(2, "0"), "hex");
  return state === null ? head : Buffer.concat([head, Buffer.from(state, "latin1")]);
}

/** Reverses `packTraceContext`; null for null and for invalid input. */
export function unpackTraceContext(bytes: Uint8Array | null): TraceContext | null {
  if (bytes === null || bytes.byteLength < contextBytes) return null;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    traceId: buffer.toString("hex", 0, traceBytes),
    spanId: buffer.toString("hex", traceBytes, contextBytes - 1),
    flags: buffer[contextBytes - 1] ?? 0,
    state: buffer.byteLength === contextBytes ? null : buffer.toString("latin1", contextBytes),
  };
}

// Span ids are derived from stored data. The header of a request, the span of its attempt and the links of later
// attempts therefore agree in every process, and nothing needs to be stored.

/** The trace of an event: its publisher's, or one derived from the event id. */
export function traceIdOf(id: string, trace: TraceContext | null): string {
  return trace?.traceId ?? id.replaceAll("-", "");
}

export function publishSpanId(eventId: string): string {
  return mixed(eventId, 0);
}

/** The span id of an attempt by its number, from 1. */
export function attemptSpanId(deliveryId: string, number: number): string {
  return mixed(deliveryId, number);
}

/** Mixes the 62 random bits of the id with the number, so that consecutive numbers give unrelated ids. */
function mixed(id: string, number: number): string {
  const digits = id.replaceAll("-", "").slice(-16);
  const high = Number.parseInt(digits.slice(0, 8), 16) | 0;
  const low = Number.parseInt(digits.slice(8), 16) | 0;
  const left = scrambled(high ^ Math.imul(number + 1, 0x9e3779b1));
  const right = scrambled(low ^ left);
  const text = hexOf(left) + hexOf(right);
  return text === "0000000000000000" ? "0000000000000001" : text;
}

/** The finaliser of MurmurHash3: every bit depends on every other one. */
function scrambled(value: number): number {
  let mixing = value;
  mixing = Math.imul(mixing ^ (mixing >>> 16), 0x85ebca6b);
  mixing = Math.imul(mixing ^ (mixing >>> 13), 0xc2b2ae35);
  return mixing ^ (mixing >>> 16);
}

function hexOf(value: number): string {
  return (value >>> 0).toString(16).padStart(8, "0");
}

/** A finished span for export. Times are Unix milliseconds. */
export interface Span {
  readonly name: "posthorn.publish" | "posthorn.deliver";
  readonly kind: "producer" | "client";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** Whether the parent ran in another process. */
  readonly isParentRemote: boolean;
  readonly state: string | null;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly SpanLink[];
  /** Why the span failed, in one line; null for success. */
  readonly error: string | null;
}

/** A link to another span of the same trace. */
export interface SpanLink {
  readonly spanId: string;
  /** How the linked span relates to this one. */
  readonly relation: "publish" | "earlier_attempt";
}
