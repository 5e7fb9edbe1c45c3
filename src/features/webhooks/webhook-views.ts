/** The visible parts of a webhook. Only the views that exist to reveal a secret contain one. */
import type { CircuitSnapshot } from "../../domain/circuit-breaker.ts";
import type { DeliveryPolicy } from "../../domain/delivery-policy.ts";
import type { PauseReason, WebhookHealthState } from "../../domain/endpoint-health.ts";
import type { Webhook, WebhookPause, WebhookStatus } from "../../domain/webhook.ts";
import type { AttemptStats, Backlog } from "../../ports/store/history.ts";

/** A webhook with its effective policy and the state of its endpoint. Never contains a secret. */
export interface WebhookView {
  readonly webhook: Webhook;
  readonly policy: DeliveryPolicy;
  readonly health: WebhookHealthState;
  /** A manual pause in force. */
  readonly pause: WebhookPause | null;
  readonly lastSuccessAt: number | null;
  readonly lastFailedAt: number | null;
  readonly hasBearerToken: boolean;
  /** Only the names of secret headers. */
  readonly credentialHeaderNames: readonly string[];
  readonly clientCertificate: ClientCertificateView | null;
  /** The DNS record that the owner must publish for the method `dns`. */
  readonly dnsRecord: { readonly name: string; readonly value: string } | null;
  /** `whsec_…` masked to its last four characters. */
  readonly secretHint: string | null;
  /** End of a manual circuit opening (WDS-58); null if there is none. */
  readonly forcedOpenUntil: number | null;
}

/** The visible parts of a certificate, without its key. */
export interface ClientCertificateView {
  readonly subject: string;
  readonly issuer: string;
  /** SHA-256, in hex with colons. */
  readonly fingerprint: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /** Set if it has expired or expires within two weeks. */
  readonly warning: string | null;
}

export interface WebhookSecretView {
  /** Current symmetric secret, `whsec_…`; null for a webhook that signs only with `v1a`. */
  readonly secret: string | null;
  /** The previous secret during the overlap of a graceful rotation. */
  readonly previous: { readonly secret: string; readonly expiresAt: number } | null;
}

export interface WebhookPublicKeyView {
  readonly publicKey: string;
  readonly jwk: Readonly<Record<string, string>>;
}

export interface WebhookHealthView {
  readonly webhookId: string;
  readonly health: WebhookHealthState;
  readonly status: WebhookStatus;
  readonly statusReason: string | null;
  readonly circuit: CircuitSnapshot;
  readonly pausedUntil: number | null;
  readonly pauseReason: PauseReason | null;
  readonly inFlight: number;
  readonly stats: AttemptStats;
  readonly statsSince: number;
  readonly lastSuccessAt: number | null;
  /** When the webhook will be disabled unless a delivery is accepted first; null if no such deadline applies. */
  readonly disablesAt: number | null;
}

export interface WebhookBacklogView extends Backlog {
  readonly webhookId: string;
  /** All priorities, up to the limit of counting. */
  readonly total: number;
  /** Accepted deliveries per second over the last five minutes. */
  readonly perSecond: number;
  /** Time to drain at that rate; null if unknown. */
  readonly drainMs: number | null;
}
