import { resolvePolicy } from "../core/delivery-policy.ts";
import type { Profile } from "../core/profile.ts";
import { parseSecret } from "../core/signing/signing-key.ts";
import type { SigningKey } from "../core/signing/signing-key.ts";
import { prepareSigner } from "../core/signing/standard-webhooks.ts";
import type { Webhook } from "../core/webhook.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { StoredSecret } from "../ports/store/webhooks.ts";
import type { EndpointConfig } from "./endpoint.ts";

export interface EndpointConfigInput {
  readonly webhook: Webhook;
  readonly profile: Profile;
  /** The webhook's own keys. */
  readonly secrets: readonly StoredSecret[];
  /** The tenant's asymmetric keys, for webhooks that bring none of their own (TS16-73). */
  readonly tenantKeys: readonly StoredSecret[];
  readonly secretBox: SecretBox;
  readonly userAgent: string;
  readonly now: number;
}

/** Decrypts the keys and prepares what every attempt needs. Throws `SecretUnreadableError`. */
export function buildEndpointConfig(input: EndpointConfigInput): EndpointConfig {
  const { webhook, secrets, now } = input;
  const policy = resolvePolicy(webhook, input.profile);
  const own = secrets.filter((secret) => inForce(secret, now));
  const ownAsymmetric = own.filter((secret) => secret.kind === "ed25519");
  const tenantKeys = input.tenantKeys.filter((secret) => inForce(secret, now));
  const keys: SigningKey[] = [];
  if (policy.signatureSchemes.includes("v1a")) {
    const useOwn = ownAsymmetric.length > 0;
    const context = useOwn ? webhook.id : webhook.tenantId;
    keys.push(...openKeys(useOwn ? ownAsymmetric : tenantKeys, { context, secretBox: input.secretBox }));
  }
  if (policy.signatureSchemes.includes("v1")) {
    const symmetric = own.filter((secret) => secret.kind === "symmetric");
    keys.push(...openKeys(symmetric, { context: webhook.id, secretBox: input.secretBox }));
  }
  const url = new URL(webhook.url);
  return {
    webhook,
    policy,
    secrets,
    signer: prepareSigner(keys),
    origin: url.origin,
    path: url.pathname + url.search,
    fixedHeaders: fixedHeaders(input, own),
    keysExpireAt: earliestExpiry([...own, ...tenantKeys]),
  };
}

function inForce(secret: StoredSecret, now: number): boolean {
  return secret.expiresAt === null || secret.expiresAt > now;
}

/** Newest first, so that the current key's signature stands before the old one's during a rotation. */
function openKeys(
  secrets: readonly StoredSecret[],
  how: { readonly context: string; readonly secretBox: SecretBox },
): SigningKey[] {
  return secrets
    .toSorted((a, b) => b.createdAt - a.createdAt)
    .map((secret) => {
      const key = parseSecret(how.secretBox.open({ ciphertext: secret.ciphertext, context: how.context }));
      if (key.kind === "invalid") throw new Error(`a stored signing key is not usable: ${key.reason}`);
      return key;
    });
}

function fixedHeaders(input: EndpointConfigInput, own: readonly StoredSecret[]): string[] {
  const headers = ["User-Agent", input.userAgent];
  const bearer = own.find((secret) => secret.kind === "bearer");
  if (bearer !== undefined) {
    const token = input.secretBox.open({ ciphertext: bearer.ciphertext, context: input.webhook.id });
    headers.push("Authorization", `Bearer ${token}`);
  }
  for (const [name, value] of Object.entries(input.webhook.headers)) headers.push(name, value);
  return headers;
}

function earliestExpiry(secrets: readonly StoredSecret[]): number | null {
  let earliest: number | null = null;
  for (const { expiresAt } of secrets) {
    if (expiresAt !== null && (earliest === null || expiresAt < earliest)) earliest = expiresAt;
  }
  return earliest;
}
