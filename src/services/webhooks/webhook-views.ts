/** What callers see of a webhook. Nothing here holds a secret, but for the views that exist to show one. */
import type { CircuitSnapshot } from "../../core/circuit-breaker.ts";
import type { DeliveryPolicy } from "../../core/delivery-policy.ts";
import type { PauseReason, WebhookHealthState } from "../../core/endpoint-health.ts";
import type { Webhook, WebhookPause, WebhookStatus } from "../../core/webhook.ts";
import type { AttemptStats, Backlog } from "../../ports/store/history.ts";

/** A webhook with its effective policy and what is known of its endpoint. Never holds a secret. */
export interface WebhookView {
  readonly webhook: Webhook;
  readonly policy: DeliveryPolicy;
  readonly health: WebhookHealthState;
  /** By hand, while it lasts. */
  readonly pause: WebhookPause | null;
  readonly lastSuccessAt: number | null;
  readonly lastFailedAt: number | null;
  readonly hasBearerToken: boolean;
  /** Of secret headers only the names. */
  readonly credentialHeaderNames: readonly string[];
  readonly clientCertificate: ClientCertificateView | null;
  /** What the owner must put into the domain name system, for the method `dns`. */
  readonly dnsRecord: { readonly name: string; readonly value: string } | null;
  /** `whsec_…` masked to its last four characters. */
  readonly secretHint: string | null;
  /** Circuit opened by hand until then (WDS-58); null when it is not. */
  readonly forcedOpenUntil: number | null;
}

/** What may be shown of a certificate; never its key. */
export interface ClientCertificateView {
  readonly subject: string;
  readonly issuer: string;
  /** SHA-256, in hex with colons. */
  readonly fingerprint: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /** A sentence once it expires within two weeks, or has expired. */
  readonly warning: string | null;
}

export interface WebhookSecretView {
  /** Current symmetric secret, `whsec_…`; null for a webhook that signs with `v1a` alone. */
  readonly secret: string | null;
  /** The old one while a graceful rotation overlaps. */
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
  /** When its rules disable it unless something is accepted before; null where no such time runs. */
  readonly disablesAt: number | null;
}

export interface WebhookBacklogView extends Backlog {
  readonly webhookId: string;
  /** Of all priorities, as far as they were counted. */
  readonly total: number;
  /** Accepted a second over the last five minutes. */
  readonly perSecond: number;
  /** Until nothing waits any more, at that pace; null where nobody can tell. */
  readonly drainMs: number | null;
}
