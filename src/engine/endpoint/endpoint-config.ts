import { type DeliveryPolicy, resolvePolicy } from "../../domain/delivery-policy.ts";
import type { Profile } from "../../domain/profile.ts";
import { UnsignableMessageError } from "../../domain/signing/unsignable-message.ts";
import { parseSecret } from "../../domain/signing/signing-key.ts";
import { needsKey } from "../../domain/signing/schemes.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import type { ClientCertificate } from "../../ports/transport.ts";
import { type OAuth2Credentials, StoredCredentials } from "../credentials/stored-credentials.ts";
import { type MessageComposer, prepareComposer } from "../message/compose.ts";
import { canSign, prepareSigners, type SigningKeys } from "../message/signers.ts";

/** Everything an attempt needs besides the delivery; rebuilt when a webhook is edited or its keys are rotated. */
export interface EndpointConfig {
  readonly webhook: Webhook;
  readonly policy: DeliveryPolicy;
  readonly secrets: readonly StoredSecret[];
  /** False if one of its signature headers has no key: then nothing is sent, and `compose` throws. */
  readonly canSign: boolean;
  readonly compose: MessageComposer;
  readonly origin: string;
  /** Name and port; requests of all webhooks with the same host are counted together. */
  readonly host: string;
  /** Path and query as requested, including `access_token` if the token is sent there. */
  readonly path: string;
  readonly http2: boolean;
  readonly clientCertificate: ClientCertificate | null;
  readonly oauth2: OAuth2Credentials | null;
  /** Secrets that attempts send to the receiver, to be masked in the history. */
  readonly shownSecrets: readonly string[];
  /** Lowercase names of headers that carry credentials. */
  readonly credentialHeaders: readonly string[];
  /** When one of the keys expires; the configuration must be rebuilt then. */
  readonly keysExpireAt: number | null;
}

export interface EndpointConfigInput {
  readonly webhook: Webhook;
  readonly profile: Profile;
  /** The webhook's own keys. */
  readonly secrets: readonly StoredSecret[];
  /** The tenant's asymmetric keys, for webhooks without their own (TS16-73). */
  readonly tenantKeys: readonly StoredSecret[];
  readonly secretBox: SecretBox;
  readonly userAgent: string;
  readonly requestOrigin: string;
  readonly now: number;
}

/** Decrypts the keys and prepares what every attempt needs. Throws `SecretUnreadableError`. */
export function buildEndpointConfig(input: EndpointConfigInput): EndpointConfig {
  const { webhook, secrets, now, userAgent, requestOrigin } = input;
  const policy = resolvePolicy(webhook, input.profile);
  const own = secrets.filter((secret) => inForce(secret, now));
  const tenantKeys = input.tenantKeys.filter((secret) => inForce(secret, now));
  const credentials = new StoredCredentials(webhook, own, input.secretBox);
  const keys = signingKeys(input, policy, own, tenantKeys);
  const isSignable = canSign(policy.signatureSchemes, keys);
  const url = new URL(webhook.url);
  const path = credentials.pathOf(url);
  return {
    webhook,
    policy,
    secrets,
    canSign: isSignable,
    compose: isSignable
      ? prepareComposer(policy.headers, {
          signers: prepareSigners(policy.signatureSchemes, webhook.id, keys),
          userAgent,
          requestOrigin,
          targetUri: url.origin + path,
          fixedHeaders: credentials.headers(),
          traces: webhook.traceContext,
        })
      : refuseUnsigned,
    origin: url.origin,
    host: hostOf(url),
    path,
    http2: webhook.http2,
    clientCertificate: credentials.clientCertificate(),
    oauth2: credentials.oauth2(),
    shownSecrets: credentials.shownSecrets(),
    credentialHeaders: credentials.headerNames(),
    keysExpireAt: earliestExpiry([...own, ...tenantKeys]),
  };
}

const refuseUnsigned: MessageComposer = () => {
  throw new UnsignableMessageError("no_keys", "the webhook has no signing key");
};

function hostOf({ hostname, port, protocol }: URL): string {
  const implied = protocol === "http:" ? "80" : "443";
  return `${hostname.replace(/\.$/, "")}:${port === "" ? implied : port}`;
}

function inForce(secret: StoredSecret, now: number): boolean {
  return secret.expiresAt === null || secret.expiresAt > now;
}

function signingKeys(
  { webhook, secretBox }: EndpointConfigInput,
  policy: DeliveryPolicy,
  own: readonly StoredSecret[],
  tenantKeys: readonly StoredSecret[],
): SigningKeys {
  const { signatureSchemes } = policy;
  const ownPairs = own.filter((secret) => secret.kind === "ed25519");
  const pairs = ownPairs.length > 0 ? ownPairs : tenantKeys;
  const context = ownPairs.length > 0 ? webhook.id : webhook.tenantId;
  const symmetric = own.filter((secret) => secret.kind === "symmetric");
  return {
    ed25519: needsKey(signatureSchemes, "ed25519")
      ? openKeys(pairs, context, secretBox).flatMap(({ key }) => (key.kind === "asymmetric" ? [key] : []))
      : [],
    symmetric: needsKey(signatureSchemes, "symmetric")
      ? openKeys(symmetric, webhook.id, secretBox).flatMap(({ key, text }) =>
          key.kind === "symmetric" ? [{ key, text }] : [],
        )
      : [],
  };
}

/** Newest first, so that the current key's signature precedes the old one's during a rotation. */
function openKeys(secrets: readonly StoredSecret[], context: string, secretBox: SecretBox) {
  return secrets
    .toSorted((a, b) => b.createdAt - a.createdAt)
    .map((secret) => {
      const text = secretBox.open({ ciphertext: secret.ciphertext, context });
      const key = parseSecret(text);
      if (key.kind === "invalid") throw new Error(`a stored signing key is not usable: ${key.reason}`);
      return { key, text };
    });
}

function earliestExpiry(secrets: readonly StoredSecret[]): number | null {
  let earliest: number | null = null;
  for (const { expiresAt } of secrets) {
    if (expiresAt !== null && (earliest === null || expiresAt < earliest)) earliest = expiresAt;
  }
  return earliest;
}
