import { isIdempotencyKey, parseKeyHeader } from "../../domain/http/idempotency-key.ts";
import { ReceiverError } from "../receiver-error.ts";
import { type AcceptedVerification, type ReceivedMessage, canonicalPathOf } from "./message.ts";

/**
 * Source of a message's key. `Idempotency-Key` is used only if the sender vouches for the header (`isKeyAuthentic`).
 * The other sources are the signed message id (`Webhook-ID`, or the provider's equivalent), or a function for anything
 * else, such as a field of the body.
 */
export type KeySource =
  | "idempotency-key"
  | "message-id"
  | ((message: ReceivedMessage, verification: AcceptedVerification) => string | null);

export interface KeyRules {
  /** Tried in this order; the first non-empty result is the key. */
  readonly sources: readonly KeySource[];
  /** Other names for the header, such as `X-Idempotency-Key`. */
  readonly headerAliases: readonly string[];
  /** `strict` accepts only quoted strings; `lenient` also accepts bare values. */
  readonly syntax: "strict" | "lenient";
  /** Checks an application-specific format. Runs before any lookup. */
  readonly isAcceptable: (key: string) => boolean;
}

/** The key of a message, or null. Throws ReceiverError `idempotency_key_malformed`. */
export function readKey(
  message: ReceivedMessage,
  verification: AcceptedVerification,
  rules: KeyRules,
): string | null {
  for (const source of rules.sources) {
    const key = keyFrom(source);
    if (key === null) continue;
    if (!isIdempotencyKey(key)) throw malformed("it must have 1 to 255 printable ASCII characters");
    if (!rules.isAcceptable(key)) throw malformed("it does not have the documented format");
    return key;
  }
  return null;

  function keyFrom(source: KeySource): string | null {
    if (source === "idempotency-key")
      return verification.isKeyAuthentic === true ? headerKey(message, rules) : null;
    if (source === "message-id") return verification.messageId;
    return source(message, verification);
  }
}

function headerKey({ headers }: ReceivedMessage, { headerAliases, syntax }: KeyRules): string | null {
  const raw = headers.get("idempotency-key");
  if (raw !== null) return parse(raw, syntax === "lenient");
  for (const name of headerAliases) {
    const value = headers.get(name);
    // Headers with other names are not structured fields, so a bare value is their usual form.
    if (value !== null) return parse(value, true);
  }
  return null;
}

function parse(raw: string, lenient: boolean): string {
  const parsed = parseKeyHeader(raw, lenient);
  if (parsed.kind === "ok") return parsed.key;
  throw malformed(`it is ${parsed.reason.replaceAll("_", " ")}`);
}

function malformed(detail: string): ReceiverError {
  return new ReceiverError("idempotency_key_malformed", `The Idempotency-Key cannot be used: ${detail}.`);
}

/**
 * The identities under which a message is recorded; empty if it has none. Values that the verifier vouches for are
 * always included, in addition to any other key.
 */
export function identitiesOf(
  key: string | null,
  { messageId, replayId }: Pick<AcceptedVerification, "messageId" | "replayId">,
): readonly string[] {
  const identities = new Set([replayId ?? null, messageId, key]);
  return [...identities].filter((identity) => identity !== null);
}

/** Identifies an endpoint by the name that the application gave it, or by its path. */
export function endpointOf(url: string, name: string | undefined): string {
  return name ?? canonicalPathOf(url);
}

/**
 * The key as stored: a hash of producer, endpoint and identity. Producers cannot access each other's entries, and no
 * character of a header reaches a database.
 */
export async function storeKey(producer: string, endpoint: string, identity: string): Promise<string> {
  const text = JSON.stringify([producer, endpoint, identity]);
  return sha256Hex(new TextEncoder().encode(text));
}

/** SHA-256 as 64 hexadecimal digits. Every runtime with the Fetch API has WebCrypto. */
export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  const digest = await globalThis.crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
