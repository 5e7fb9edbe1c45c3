import { decodeBase64 } from "../../domain/base64.ts";
import { andThen, concat, type MaybePromise, type ReceiverCrypto } from "../crypto/crypto.ts";
import type { ReceivedMessage, Verification } from "../message/message.ts";

/** Converts text to bytes and back, with functions that Node, browsers and edge runtimes share. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Invalid UTF-8 becomes replacement characters. */
export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Null unless the string is exactly `length` bytes in hexadecimal, in either case. */
export function hexBytes(text: string, length: number): Uint8Array | null {
  if (text.length !== length * 2 || !/^[0-9a-f]*$/i.test(text)) return null;
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 1) bytes[at] = Number.parseInt(text.slice(at * 2, at * 2 + 2), 16);
  return bytes;
}

/**
 * Null unless the string is canonical, padded base64 of 1 to `lengthMax` bytes, so that each value has a single
 * spelling.
 */
export function base64Bytes(text: string, lengthMax: number): Uint8Array | null {
  if (text === "" || text.length > Math.ceil(lengthMax / 3) * 4) return null;
  const bytes = decodeBase64(text);
  return bytes === null || bytes.length > lengthMax ? null : bytes;
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * A value that a replayed message cannot change: a digest of all signed content, including the timestamp. The signature
 * is not suitable, because some signatures can be written in several ways, and an attacker may omit one of several
 * valid ones.
 */
export function replayIdOf(crypto: ReceiverCrypto, signed: readonly Uint8Array[]): MaybePromise<string> {
  return andThen(crypto.digest("sha256", concat(signed)), hexOf);
}

// Reads untrusted input: every length is bounded, and invalid input is rejected, never thrown.

export type Rejected = Extract<Verification, { kind: "rejected" }>;

/** Much longer than the headers of any provider; longer headers are refused. */
const headerLengthMax = 4_096;
/** More signatures than any rotation needs. Bounds the work that an attacker can cause. */
const entriesMax = 32;

export function rejected(cause: Rejected["cause"], detail: string): Rejected {
  return { kind: "rejected", cause, detail };
}

export function isRejected(value: unknown): value is Rejected {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "rejected";
}

/** Reads a required header. Rejects it if it is missing or too long. */
export function headerOf({ headers }: ReceivedMessage, name: string): string | Rejected {
  const value = headers.get(name)?.trim() ?? "";
  if (value === "") return rejected("missing_header", `${name} is missing`);
  if (value.length > headerLengthMax) return rejected("malformed_header", `${name} is too long`);
  return value;
}

/**
 * The values of the entries that begin with the prefix, without the prefix: `v1=` in `t=1,v1=aa,v1=bb` gives aa and bb.
 */
export function entriesIn(header: string, separator: string, prefix: string): readonly string[] {
  return header
    .split(separator, entriesMax)
    .map((entry) => entry.trim())
    .filter((entry) => entry.startsWith(prefix))
    .map((entry) => entry.slice(prefix.length));
}

/** Formats in which providers write a signed timestamp. */
export type TimestampForm = "seconds" | "milliseconds" | "iso8601";

const unixTime = /^(?:0|[1-9]\d{0,14})$/;
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/** Parses a signed timestamp and checks its age. Returns whole Unix seconds. */
export function timestampOf(
  text: string,
  nowSeconds: number,
  toleranceSeconds: number,
  form: TimestampForm = "seconds",
): number | Rejected {
  const timestampSeconds = secondsIn(text, form);
  if (timestampSeconds === null)
    return rejected("bad_timestamp", `the signed time is not ${formNames[form]}`);
  return ageProblem(timestampSeconds, nowSeconds, toleranceSeconds) ?? timestampSeconds;
}

const formNames: Readonly<Record<TimestampForm, string>> = {
  seconds: "whole Unix seconds",
  milliseconds: "whole Unix milliseconds",
  iso8601: "a time such as 2026-01-31T23:59:59Z",
};

function secondsIn(text: string, form: TimestampForm): number | null {
  if (form === "iso8601") return isoTime.test(text) ? wholeSeconds(Date.parse(text)) : null;
  if (!unixTime.test(text)) return null;
  return form === "seconds" ? Number(text) : wholeSeconds(Number(text));
}

function wholeSeconds(milliseconds: number): number | null {
  return Number.isNaN(milliseconds) ? null : Math.floor(milliseconds / 1_000);
}

/** Null if the difference from the current time is within the tolerance. */
export function ageProblem(
  timestampSeconds: number,
  nowSeconds: number,
  toleranceSeconds: number,
): Rejected | null {
  const ageSeconds = nowSeconds - timestampSeconds;
  // Negated so that a message is refused if the clock value is NaN.
  if (!(ageSeconds <= toleranceSeconds))
    return rejected("too_old", `signed ${ageSeconds} s ago; the tolerance is ${toleranceSeconds} s`);
  if (!(-ageSeconds <= toleranceSeconds))
    return rejected("too_new", `signed ${-ageSeconds} s ahead; the tolerance is ${toleranceSeconds} s`);
  return null;
}

/** A field of a JSON object. Only for verified bytes: JSON from an attacker must not be parsed. */
export function fieldOf(body: Uint8Array, name: string): unknown {
  try {
    const value: unknown = JSON.parse(textOf(body));
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/** Null unless it is a string of 1 to 255 visible ASCII characters. */
export function messageIdFrom(value: unknown): string | null {
  return typeof value === "string" && /^[\x21-\x7e]{1,255}$/.test(value) ? value : null;
}

// Parsing for providers whose signature is inside the body, which must be parsed before anything is verified. The
// parsing is bounded here.

export type JsonObject = Readonly<Record<string, unknown>>;

const bytesMax = 262_144;

export function unprovenBody({ body }: ReceivedMessage): JsonObject | Rejected {
  if (body.length > bytesMax) return rejected("body_altered", `the body has more than ${bytesMax} bytes`);
  try {
    return objectOf(JSON.parse(textOf(body))) ?? rejected("body_altered", "the body is not a JSON object");
  } catch {
    return rejected("body_altered", "the body is not JSON");
  }
}

/** Null for any value other than an object with named members. */
export function objectOf(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}
