import { type CircuitBreakerState, circuitPhase, type ProbeLease } from "../../domain/circuit-breaker.ts";
import { type DeliveryPolicy, resolvePolicy } from "../../domain/delivery-policy.ts";
import {
  type EndpointHealth,
  type PauseReason,
  type RecentAttempts,
  type WebhookHealthState,
  webhookHealthState,
} from "../../domain/endpoint-health.ts";
import type { Profile } from "../../domain/profile.ts";
import { needsKey, UnsignableMessageError } from "../../domain/signing/schemes.ts";
import { parseSecret } from "../../domain/signing/signing-key.ts";
import { pauseAt, type Webhook } from "../../domain/webhook.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import type { ClientCertificate } from "../../ports/transport.ts";
import { type OAuth2Credentials, StoredCredentials } from "../credentials/oauth2-tokens.ts";
import {
  canSign,
  type MessageComposer,
  prepareComposer,
  prepareSigners,
  type SigningKeys,
} from "../message/compose.ts";

/**
 * Everything an attempt needs in addition to the delivery. Rebuilt when a webhook is edited or its keys are rotated.
 */
export interface EndpointConfig {
  readonly webhook: Webhook;
  readonly policy: DeliveryPolicy;
  readonly secrets: readonly StoredSecret[];
  /** False if a key for one of the signature headers is missing: then nothing is sent, and `compose` throws. */
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
  /** When the first of the keys expires and the configuration must be rebuilt. */
  readonly keysExpireAt: number | null;
}

export interface EndpointConfigInput {
  readonly webhook: Webhook;
  readonly profile: Profile;
  /** The webhook's own keys. */
  readonly secrets: readonly StoredSecret[];
  /** The tenant's asymmetric keys, for webhooks without their own keys (TS16-73). */
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

/** Newest first, so that the signature of the current key precedes that of the old key during a rotation. */
function openKeys(secrets: readonly StoredSecret[], context: string, secretBox: SecretBox) {
  return secrets
    .toSorted((a, b) => b.createdAt - a.createdAt)
    .map((secret) => {
      const text = secretBox.open(secret.ciphertext, context);
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

/**
 * Endpoint state that only the owner has, for processes that answer API calls: why deliveries wait, and the circuit's
 * counts. It may be slightly outdated and is never used for decisions. Timestamps are in Unix milliseconds.
 */
export interface EndpointReport {
  readonly inFlight: number;
  /** IDs of the deliveries in flight, up to a limit. */
  readonly deliveries: readonly string[];
  readonly rateFullAt: number | null;
  /** When the tenant's limit lets the next request through. */
  readonly tenantLimitUntil: number | null;
  /** Ordered lanes that wait for their head, by `laneId`, and when the wait ends; null while the head is in flight. */
  readonly heads: readonly (readonly [laneId: string, until: number | null])[];
  readonly successes: number;
  readonly failures: number;
  readonly probeResults: number;
  readonly probeSuccesses: number;
  readonly probes: readonly ProbeLease[];
}

/** The overall health of a webhook, from the state in this process. */
export function healthOf(live: LiveWebhook, now: number): WebhookHealthState {
  const { webhook, circuit, policy, recent } = live;
  return webhookHealthState(
    webhook.status,
    pauseAt(webhook, now) !== null,
    circuitPhase(circuit, policy.circuitBreaker, now) === "closed",
    recent,
  );
}

/** A webhook with its current runtime state. */
export interface LiveWebhook {
  readonly webhook: Webhook;
  readonly policy: DeliveryPolicy;
  readonly secrets: readonly StoredSecret[];
  readonly circuit: Readonly<CircuitBreakerState>;
  readonly health: Readonly<EndpointHealth>;
  readonly recent: Readonly<RecentAttempts>;
  readonly pausedUntil: number | null;
  readonly pauseReason: PauseReason | null;
  readonly lastSuccessAt: number | null;
  readonly inFlight: number;
  /** The owner's report, if another process owns the endpoint (cluster/endpoint-reports.ts). */
  readonly report: { readonly inFlight: number } | null;
}
