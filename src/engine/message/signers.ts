import type { SignatureSchemeName } from "../../domain/profile.ts";
import {
  type HttpSignatureSigner,
  prepareHttpSignatureSigner,
} from "../../domain/signing/http-signatures.ts";
import type { AsymmetricKey, SigningKey, SymmetricKey } from "../../domain/signing/signing-key.ts";
import { signatureSchemeKeys } from "../../domain/signing/schemes.ts";
import { prepareSigner, type Signer } from "../../domain/signing/standard-webhooks.ts";
import { prepareXWebhookSigner, type XWebhookSigner } from "../../domain/signing/x-webhook.ts";

/** The current keys of a webhook, newest first within each kind. */
export interface SigningKeys {
  /** With the secret as text, which is the key of `x-webhook-v1`. */
  readonly symmetric: readonly { readonly key: SymmetricKey; readonly text: string }[];
  readonly ed25519: readonly AsymmetricKey[];
}

/** Creates the values of signature headers; null if no scheme of the webhook needs it. */
export interface Signers {
  readonly standard: Signer | null;
  readonly xWebhook: XWebhookSigner | null;
  readonly http: HttpSignatureSigner | null;
}

/** Schemes grouped by signature header. */
const families: readonly (readonly SignatureSchemeName[])[] = [
  ["v1a", "v1"],
  ["x-webhook-v1"],
  ["rfc9421-ed25519", "rfc9421-hmac-sha256"],
];

/** Whether each used signature header has a key for one of its schemes. */
export function canSign(schemes: readonly SignatureSchemeName[], keys: SigningKeys): boolean {
  return families.every((family) => {
    const used = family.filter((scheme) => schemes.includes(scheme));
    return used.length === 0 || used.some((scheme) => keys[signatureSchemeKeys[scheme]].length > 0);
  });
}

/** Prepares the keys once; throws if a scheme has no key, because unsigned messages must never be sent (TS16-57). */
export function prepareSigners(
  schemes: readonly SignatureSchemeName[],
  id: string,
  keys: SigningKeys,
): Signers {
  const uses = (scheme: SignatureSchemeName): boolean => schemes.includes(scheme);
  const symmetric = keys.symmetric.map(({ key }) => key);
  const standardKeys: SigningKey[] = [...(uses("v1a") ? keys.ed25519 : []), ...(uses("v1") ? symmetric : [])];
  const httpKeys = [
    ...(uses("rfc9421-ed25519") ? keys.ed25519 : []),
    // The key ID is the webhook ID, by which the receiver finds the secret.
    ...(uses("rfc9421-hmac-sha256") ? symmetric.map(({ kind, bytes }) => ({ kind, bytes, keyId: id })) : []),
  ];
  return {
    standard: uses("v1a") || uses("v1") ? prepareSigner(standardKeys) : null,
    xWebhook: uses("x-webhook-v1") ? prepareXWebhookSigner(keys.symmetric.map(({ text }) => text)) : null,
    http:
      uses("rfc9421-ed25519") || uses("rfc9421-hmac-sha256")
        ? prepareHttpSignatureSigner({ keys: httpKeys })
        : null,
  };
}
