import type { Profile, SignatureSchemeName } from "../../domain/profile.ts";
import { parsePublicKey, parseSecret, publicKeyText } from "../../domain/signing/signing-key.ts";
import type { MessageVerifier } from "../../receiver/message/message.ts";
import { anyOf } from "../../receiver/schemes/first-match.ts";
import { httpSignatures, standardWebhooks, xWebhook } from "../../receiver/verifiers.ts";

/**
 * Verifies like the receiver kit, with the profile's schemes that match the key: `whsec_…`, `whsk_…` or `whpk_…`.
 * Throws a RangeError that says what is wrong with the key, without revealing it.
 */
export function verifierFor(
  secret: string,
  profile: Pick<Profile, "name" | "signatureSchemesAllowed">,
  keyId: string,
): MessageVerifier {
  const key = verifyingKey(secret);
  const { name, signatureSchemesAllowed } = profile;
  const isShared = key.startsWith("whsec_");
  const fits = (shared: SignatureSchemeName, pair: SignatureSchemeName): boolean =>
    signatureSchemesAllowed.includes(isShared ? shared : pair);
  const verifiers: MessageVerifier[] = [];
  if (fits("v1", "v1a")) verifiers.push(standardWebhooks({ keys: key }));
  if (isShared && signatureSchemesAllowed.includes("x-webhook-v1"))
    verifiers.push(xWebhook({ secrets: key }));
  if (fits("rfc9421-hmac-sha256", "rfc9421-ed25519"))
    verifiers.push(httpSignatures({ keys: [isShared ? { key, keyId } : { key }] }));
  if (verifiers.length === 0)
    throw new RangeError(`profile ${name} signs with ${signatureSchemesAllowed.join(", ")}`);
  return anyOf(verifiers);
}

/** The public half is sufficient to verify, and the kit refuses the private half. */
function verifyingKey(text: string): string {
  if (text.startsWith("whpk_")) {
    const key = parsePublicKey(text);
    if (key.kind === "invalid") throw new RangeError(key.detail);
    return text;
  }
  const key = parseSecret(text);
  if (key.kind === "invalid") throw new RangeError(key.detail);
  return key.kind === "asymmetric" ? publicKeyText(key.publicKey) : text;
}
