/**
 * Standard Webhooks signatures: `v1` (HMAC-SHA256) and `v1a` (Ed25519) over `{id}.{timestamp}.{body bytes}`.
 *
 * Signing is on the hot path: keys are prepared once, and all of them share the bytes of a message (signed-content.ts).
 */
import { sign as signEd25519 } from "node:crypto";
import { UnsignableMessageError, isSignableMessageId, requireUnixSeconds } from "./schemes.ts";
import { type Content, contentBytes, placeContent, prepareMac } from "./signed-content.ts";
import { type AsymmetricKey, privateKeyObject, type SigningKey, type SymmetricKey } from "./signing-key.ts";

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
