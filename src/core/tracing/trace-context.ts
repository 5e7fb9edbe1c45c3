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

/** The publisher records its trace. */
export const sampledFlag = 1;
/** The trace id is random enough for sampling (level 2 of the specification). */
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

/** One member: a key, optionally with a system, and a printable value. */
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

/** The text of a `traceparent` header. */
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

/** Reverses `packTraceContext`; null for null and for anything else. */
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
