import type { SignatureSchemeName } from "../profile.ts";

/** The kind of key that a scheme signs with: a shared secret (`whsec_`) or an Ed25519 pair (`whsk_`). */
export type SigningKeyKind = "symmetric" | "ed25519";

/** The key kind of each scheme. Keys are created, rotated and refused by kind, never by scheme name. */
export const signatureSchemeKeys: Readonly<Record<SignatureSchemeName, SigningKeyKind>> = {
  v1a: "ed25519",
  v1: "symmetric",
  "x-webhook-v1": "symmetric",
  "rfc9421-ed25519": "ed25519",
  "rfc9421-hmac-sha256": "symmetric",
};

/** Whether one of the schemes signs with a key of this kind. */
export function needsKey(schemes: readonly SignatureSchemeName[], kind: SigningKeyKind): boolean {
  return schemes.some((scheme) => signatureSchemeKeys[scheme] === kind);
}

/** A message that must not be signed. Such a message is a bug in the caller, because Posthorn creates what it signs. */
export class UnsignableMessageError extends Error {
  override readonly name = "UnsignableMessageError";
  readonly code:
    | "message_id_invalid"
    | "timestamp_invalid"
    | "target_uri_invalid"
    | "field_invalid"
    | "no_keys";

  constructor(code: UnsignableMessageError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Throws {@link UnsignableMessageError} unless `seconds` are whole Unix seconds. */
export function requireUnixSeconds(seconds: number): void {
  if (Number.isSafeInteger(seconds) && seconds >= 0) return;
  throw new UnsignableMessageError("timestamp_invalid", "a timestamp must be whole Unix seconds");
}

/**
 * True for 1 to 255 visible ASCII characters without a period, because the period separates the signed parts (TS-16a, "Signature scheme").
 */
export function isSignableMessageId(messageId: string): boolean {
  return /^[\x21-\x2d\x2f-\x7e]{1,255}$/.test(messageId);
}
