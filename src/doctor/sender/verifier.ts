import type { Profile, SignatureSchemeName } from "../../core/profile.ts";
import { parseSecret, publicKeyText } from "../../core/signing/signing-key.ts";
import type { MessageVerifier } from "../../receiver/message.ts";
import { anyOf } from "../../receiver/schemes/any-of.ts";
import { httpSignatures, standardWebhooks, xWebhook } from "../../receiver/verifiers.ts";

/**
 * Verifies as the receiver kit does, with the schemes of the profile that fit the key: `whsec_…`, `whsk_…` or `whpk_…`.
 * Throws an error that says what is wrong with the key, never what it is.
 */
export function verifierFor(
  secret: string,
  how: { readonly profile: Profile; readonly keyId: string },
): MessageVerifier {
  const key = verifyingKey(secret);
  const isShared = key.startsWith("whsec_");
  const fits = (shared: SignatureSchemeName, pair: SignatureSchemeName): boolean =>
    how.profile.signatureSchemesAllowed.includes(isShared ? shared : pair);
  const verifiers: MessageVerifier[] = [];
  if (fits("v1", "v1a")) verifiers.push(standardWebhooks({ keys: key }));
  if (isShared && how.profile.signatureSchemesAllowed.includes("x-webhook-v1"))
    verifiers.push(xWebhook({ secrets: key }));
  if (fits("rfc9421-hmac-sha256", "rfc9421-ed25519"))
    verifiers.push(httpSignatures({ keys: [isShared ? { key, keyId: how.keyId } : { key }] }));
  return anyOf(verifiers);
}

/** The public half is enough to verify, and the kit refuses the private one. */
function verifyingKey(secret: string): string {
  const key = parseSecret(secret);
  return key.kind === "asymmetric" ? publicKeyText(key.publicKey) : secret;
}
