/**
 * The keys of a message: the received field, the identity of the message, and the key under which the store remembers
 * it.
 */
import { hash } from "node:crypto";
import { relayedKeyPrefix } from "../core/gateway/relayed.ts";
import { parseKeyHeader } from "../core/http/idempotency-key.ts";
import type { Received } from "../receiver/configured/source-verifier.ts";
import type { MessageReading } from "./message-reading.ts";

type VerifiedMessage = Extract<Received, { readonly kind: "verified" }>;

export type KeyField =
  | { readonly kind: "none" }
  /** `raw` is relayed byte for byte; `key` is its parsed value. */
  | { readonly kind: "ok"; readonly raw: string; readonly key: string }
  | { readonly kind: "malformed"; readonly detail: string };

const name = "idempotency-key";
const lengthMax = 255;

/** A repeated, too long or malformed field is never used for a lookup. */
export function readKeyField(rawHeaders: readonly string[]): KeyField {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name)
      values.push(rawHeaders[at + 1] ?? "");
  const [raw] = values;
  if (raw === undefined) return { kind: "none" };
  if (values.length > 1) return malformed("it is repeated");
  if (!/^[\x20-\x7e]+$/.test(raw) || raw.trim() === "")
    return malformed("it must have 1 to 255 printable ASCII characters");
  if (!raw.startsWith('"'))
    return raw.length <= lengthMax ? { kind: "ok", raw, key: raw.trim() } : malformed("it is too long");
  const parsed = parseKeyHeader(raw);
  if (parsed.kind === "ok") return { kind: "ok", raw, key: parsed.key };
  return malformed(`it is ${parsed.reason.replaceAll("_", " ")}`);
}

function malformed(what: string): KeyField {
  return { kind: "malformed", detail: `The Idempotency-Key cannot be used: ${what}.` };
}

interface Identified {
  readonly sourceId: string;
  readonly received: VerifiedMessage;
  readonly field: KeyField;
  readonly bodyDigest: () => string;
  readonly reading: Pick<MessageReading, "textAt">;
  readonly keyPointers: readonly string[] | null;
}

/** The key under which the store remembers the message; hashed, so that no header content is stored. */
export function rememberedKey(message: Identified): string {
  const { sourceId, received } = message;
  const text = `[${JSON.stringify(received.verification.producer ?? null)},${identityOf(message)}]`;
  return `${relayedKeyPrefix(sourceId)}${hash("sha256", text)}`;
}

/**
 * As JSON text. Values that the sender signed come first: an unsigned key would let a captured message pass as
 * another one.
 */
function identityOf({ received, field, bodyDigest, reading, keyPointers }: Identified): string {
  const { verification, key } = received;
  if (field.kind === "ok" && verification.isKeyAuthentic === true) return JSON.stringify(["key", field.key]);
  if (verification.messageId !== null) return JSON.stringify(["id", verification.messageId]);
  if (verification.replayId !== undefined) return JSON.stringify(["replay", verification.replayId]);
  if (field.kind === "ok") return JSON.stringify(["key", field.key]);
  if (key !== null) return JSON.stringify(["id", key.value]);
  const texts = keyPointers === null ? null : pointedAt(reading, keyPointers);
  if (texts !== null) return `["pointers",[${texts.join(",")}]]`;
  return JSON.stringify(["body", verification.scheme, bodyDigest()]);
}

/** Null if a member is missing or nested too deep. */
function pointedAt(reading: Identified["reading"], pointers: readonly string[]): readonly string[] | null {
  const texts: string[] = [];
  try {
    for (const pointer of pointers) {
      const text = reading.textAt(pointer);
      if (text === undefined) return null;
      texts.push(text);
    }
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return texts;
}
