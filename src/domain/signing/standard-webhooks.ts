/**
 * Standard Webhooks signatures: `v1` (HMAC-SHA256) and `v1a` (Ed25519) over `{id}.{timestamp}.{body bytes}`.
 *
 * Signing is on the hot path: keys are prepared once, and all of them share the bytes of a message (signed-content.ts).
 */
import { Buffer } from "node:buffer";
import { sign as signEd25519, timingSafeEqual, verify as verifyEd25519 } from "node:crypto";
import { UnsignableMessageError, isSignableMessageId, requireUnixSeconds } from "./schemes.ts";
import { type Content, contentBytes, placeContent, prepareMac } from "./signed-content.ts";
import {
  type AsymmetricKey,
  type PublicKey,
  privateKeyObject,
  publicKeyObject,
  type SigningKey,
  type SymmetricKey,
} from "./signing-key.ts";

/** One message to sign. `body` is exactly what is sent (TS16-60). */
export interface MessageToSign {
  /** `Webhook-ID`: 1 to 255 visible ASCII characters without a period (TS16-62). */
  readonly messageId: string;
  /** `Webhook-Timestamp`: Unix seconds when this request is sent (TS16-34). */
  readonly timestampSeconds: number;
  readonly body: Uint8Array;
}

/** Returns the value of `Webhook-Signature`. Throws {@link UnsignableMessageError}. */
export type Signer = (message: MessageToSign) => string;

/** Creates one entry of the header, such as `v1,…`. */
type EntrySigner = (content: Content) => string;

/**
 * Prepares a signer for a webhook. Pass the keys of a rotation newest first: within each scheme the order is kept. All
 * `v1a` entries come before all `v1` entries, because one published library compares only the text after the last comma
 * and supports only `v1` (TS16-68). Throws {@link UnsignableMessageError} if `keys` is empty.
 */
export function prepareSigner(keys: readonly SigningKey[]): Signer {
  const entrySigners = [
    ...keys.filter((key) => key.kind === "asymmetric").map(prepareEd25519),
    ...keys.filter((key) => key.kind === "symmetric").map(prepareHmac),
  ];
  const [first, ...others] = entrySigners;
  if (first === undefined) throw new UnsignableMessageError("no_keys", "a signer needs a key");
  return (message) => {
    const content = writeContent(message);
    let header = first(content);
    for (const signEntry of others) header += ` ${signEntry(content)}`;
    return header;
  };
}

function writeContent({ messageId, timestampSeconds, body }: MessageToSign): Content {
  if (!isSignableMessageId(messageId)) {
    throw new UnsignableMessageError(
      "message_id_invalid",
      "a message id must be 1 to 255 visible ASCII characters without a period",
    );
  }
  requireUnixSeconds(timestampSeconds);
  return placeContent(`${messageId}.${timestampSeconds}.`, body);
}

function prepareHmac(key: SymmetricKey): EntrySigner {
  const mac = prepareMac(key.bytes, "base64");
  return (content) => `v1,${mac(content)}`;
}

function prepareEd25519(key: AsymmetricKey): EntrySigner {
  const privateKey = privateKeyObject(key.seed);
  return (content) => `v1a,${signEd25519(null, contentBytes(content), privateKey).toString("base64")}`;
}

/** A key that can verify a signature; of a pair only the public half is needed. */
export type VerificationKey = SymmetricKey | PublicKey;

/** A received message. Header names are case-insensitive (TS16-29). */
export interface MessageToVerify {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The raw bytes received, before any parsing (TS16-61). */
  readonly body: Uint8Array;
  /** Receiver's clock, Unix seconds. */
  readonly nowSeconds: number;
  /** Accepted difference in either direction, in seconds; 300 is usual (TS16-82). The limit itself is accepted. */
  readonly toleranceSeconds: number;
}

/** Stable codes for why a message is not accepted. */
const verificationFailureCauses = [
  "missing_header",
  "bad_message_id",
  "bad_timestamp",
  "too_old",
  "too_new",
  "no_matching_signature",
] as const;
export type VerificationFailureCause = (typeof verificationFailureCauses)[number];

export type VerificationResult =
  | {
      readonly kind: "verified";
      readonly messageId: string;
      readonly timestampSeconds: number;
      readonly scheme: "v1" | "v1a";
    }
  | {
      readonly kind: "rejected";
      readonly cause: VerificationFailureCause;
      readonly detail: string;
    };

/** Whether one of the keys signed the message, and if not, why (TS16-80, TS16-83). */
export type Verifier = (message: MessageToVerify) => VerificationResult;

/** More entries than any rotation needs. Bounds the work that an attacker can cause. */
const signatureEntriesMax = 32;

interface PreparedVerificationKey {
  readonly scheme: "v1" | "v1a";
  readonly matches: (signature: string, content: Content) => boolean;
}

/** Prepares a verifier that accepts a message signed with any of `keys`. Entries of unknown schemes are ignored. */
export function prepareVerifier(keys: readonly VerificationKey[]): Verifier {
  const prepared = keys.map((key) =>
    key.kind === "symmetric" ? prepareHmacCheck(key) : prepareEd25519Check(key),
  );
  return (message) => verifyWith(prepared, message);
}

function verifyWith(keys: readonly PreparedVerificationKey[], message: MessageToVerify): VerificationResult {
  const messageId = headerValue(message.headers, "webhook-id");
  const timestamp = headerValue(message.headers, "webhook-timestamp");
  const signatures = headerValue(message.headers, "webhook-signature");
  if (messageId === "") return rejected("missing_header", "Webhook-ID is missing");
  if (timestamp === "") return rejected("missing_header", "Webhook-Timestamp is missing");
  if (signatures === "") return rejected("missing_header", "Webhook-Signature is missing");
  // With a period in the id, bytes could move from the body to the id without changing the signature.
  if (!isSignableMessageId(messageId)) {
    return rejected("bad_message_id", "Webhook-ID contains a period or other invalid characters");
  }
  if (!/^(?:0|[1-9]\d{0,14})$/.test(timestamp)) {
    return rejected("bad_timestamp", "Webhook-Timestamp is not whole Unix seconds");
  }
  const timestampSeconds = Number(timestamp);
  const ageSeconds = message.nowSeconds - timestampSeconds;
  // Negated so that a clock value of NaN refuses the message.
  const { toleranceSeconds } = message;
  if (!(ageSeconds <= toleranceSeconds)) return rejected("too_old", `signed ${ageSeconds} s ago`);
  if (!(-ageSeconds <= toleranceSeconds)) return rejected("too_new", `${-ageSeconds} s ahead`);
  const content = placeContent(`${messageId}.${timestamp}.`, message.body);
  const scheme = matchingScheme(keys, signatures, content);
  if (scheme === null) return rejected("no_matching_signature", "no signature matches a key");
  return { kind: "verified", messageId, timestampSeconds, scheme };
}

function matchingScheme(
  keys: readonly PreparedVerificationKey[],
  signatures: string,
  content: Content,
): "v1" | "v1a" | null {
  for (const entry of signatures.split(" ", signatureEntriesMax)) {
    const comma = entry.indexOf(",");
    const scheme = entry.slice(0, Math.max(comma, 0));
    const signature = entry.slice(comma + 1);
    for (const key of keys) {
      if (key.scheme !== scheme) continue;
      if (key.matches(signature, content)) return key.scheme;
    }
  }
  return null;
}

function prepareHmacCheck(key: SymmetricKey): PreparedVerificationKey {
  const mac = prepareMac(key.bytes, "base64");
  return {
    scheme: "v1",
    matches: (signature, content) => {
      const expected = Buffer.from(mac(content));
      const given = Buffer.from(signature);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}

function prepareEd25519Check(key: PublicKey): PreparedVerificationKey {
  const publicKey = publicKeyObject(key.bytes);
  return {
    scheme: "v1a",
    matches: (signature, content) => {
      const given = Buffer.from(signature, "base64");
      // The decoder ignores invalid characters; without this check, one signature would have many spellings.
      if (given.toString("base64") !== signature) return false;
      return verifyEd25519(null, contentBytes(content), publicKey, given);
    },
  };
}

/** Empty if the header is absent; an empty value proves nothing either. */
function headerValue(headers: MessageToVerify["headers"], name: string): string {
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name && value !== undefined) return value;
  }
  return "";
}

function rejected(cause: VerificationFailureCause, detail: string): VerificationResult {
  return { kind: "rejected", cause, detail };
}
