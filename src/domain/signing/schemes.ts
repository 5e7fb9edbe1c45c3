import type { SignatureSchemeName } from "../profile.ts";

/** The kind of key that a scheme signs with: a shared secret (`whsec_`) or an Ed25519 pair (`whsk_`). */
export type SigningKeyKind = "symmetric" | "ed25519";

/** The key kind of each scheme, so that keys are created, rotated and refused by kind and never by scheme name. */
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
