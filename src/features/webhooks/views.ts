import type { CircuitSnapshot } from "../../domain/circuit-breaker.ts";
import type { DeliveryPolicy } from "../../domain/delivery-policy.ts";
import type { PauseReason, WebhookHealthState } from "../../domain/endpoint-health.ts";
import type { DeliveryGate } from "../../domain/gate-explanation.ts";
import { attemptsMax } from "../../domain/retry-schedule.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Webhook, WebhookPause, WebhookRetryOverrides, WebhookStatus } from "../../domain/webhook.ts";
import { jsonOf, snakeCase, snakeCaseJson } from "../../http/mapping.ts";
import type { AttemptStats, Backlog } from "../../ports/store/history.ts";
import type { StoredHistoryEntry } from "../../ports/store/webhooks.ts";
import { apiPath, type Fields } from "../../resources/field.ts";
import { webhookFields, webhookSchema } from "../../resources/webhook.ts";
import { retryConfigSchema } from "../../resources/webhook-parts.ts";
import {
  backlogSchema,
  circuitSchema,
  healthSchema,
  revisionSchema,
  secretSchema,
  timelineEntrySchema,
} from "../../resources/webhook-state.ts";
import { shownGate } from "../deliveries/views.ts";
import { webhookUrlShown } from "../notifications/operational-event.ts";

/** `retry_config` in force, or the overrides of a webhook with null for values of its profile. */
function retryConfigOf({ schedule, timeoutMs, timeoutGrowthFactor, ageMsMax }: WebhookRetryOverrides) {
  const exponential = schedule?.kind === "exponential" ? schedule : null;
  return {
    maxAttempts: schedule && attemptsMax(schedule),
    baseDelayMs: exponential?.baseDelayMs,
    maxDelayMs: exponential?.delayMsMax,
    backoffMultiplier: exponential?.multiplier,
    timeoutMs,
    timeoutGrowthFactor,
    scheduleMs: schedule?.kind === "list" ? schedule.delaysMs : null,
    maxAgeMs: ageMsMax,
  };
}

/** Replaces a secret in responses. It cannot be sent back as a value. */
const masked = "…";

type Json = Record<string, unknown>;

export function timelineJson(entry: StoredHistoryEntry): Json {
  return jsonOf(timelineEntrySchema, { ...entry, changed: Object.keys(entry.changes).map(fieldName) });
}

export function revisionJson(entry: StoredHistoryEntry): Json {
  const changes = Object.entries(entry.changes).map(([name, change]) => {
    const shown = Object.entries(change).map(([when, value]) => [when, valueJson(name, value)]);
    return [fieldName(name), Object.fromEntries(shown) as Json];
  });
  return jsonOf(revisionSchema, { ...entry, changes: Object.fromEntries(changes) as Json });
}

/** The name of the field in the API. */
function fieldName(name: string): string {
  const field = (webhookFields as Fields)[name];
  return grouped[name] ?? (field === undefined ? snakeCase(name) : apiPath(name, field));
}

const grouped: Readonly<Record<string, string>> = {
  retry: "retry_config",
  circuitBreaker: "circuit_breaker_config",
  rateLimit: "rate_limit",
};

/** The value in API form. Names of headers and metadata belong to the owner and are not converted. */
function valueJson(name: string, value: unknown): unknown {
  if (name === "headers" || name === "metadata") return value;
  return name === "retry"
    ? jsonOf(retryConfigSchema, retryConfigOf(value as WebhookRetryOverrides))
    : snakeCaseJson(value);
}

/** Circuit breaker state as in WDS-89 to 99. */
export function circuitJson(webhookId: string, circuit: CircuitSnapshot): Json {
  return jsonOf(circuitSchema, { ...circuit, webhookId });
}

export function healthJson(health: WebhookHealthView, scope: Scope): Json {
  const { webhookId, circuit, stats, statsSince: since } = health;
  return jsonOf(healthSchema, {
    ...health,
    gates: health.gates.map((gate) => shownGate(gate, scope)),
    circuitBreaker: { ...circuit, webhookId },
    stats: { ...stats, since },
    errorDistribution: stats.byCategory,
  });
}

export function secretJson(view: WebhookSecretView): Json {
  return jsonOf(secretSchema, view);
}

export function backlogJson(backlog: WebhookBacklogView): Json {
  return jsonOf(backlogSchema, {
    ...backlog,
    more: backlog.isMore,
    acceptedPerSecond: backlog.perSecond,
    drainSeconds: backlog.drainMs === null ? null : backlog.drainMs / 1_000,
  });
}

/** `secret` is included unmasked only in the response that creates it. */
export function webhookJson(view: WebhookView, secret: string | null = view.secretHint): Json {
  const { webhook, policy, credentialHeaderNames } = view;
  return jsonOf(webhookSchema, {
    ...webhook,
    ...view,
    url: webhookUrlShown(webhook),
    active: webhook.status === "active",
    profile: policy.profile,
    signing: { schemes: policy.signatureSchemes },
    payloadFormat: policy.payloadFormat,
    verification: { ...webhook.verification, dnsRecord: view.dnsRecord },
    retryConfig: retryConfigOf(policy),
    timeoutMs: policy.timeoutMs,
    circuitBreakerConfig: { ...policy.circuitBreaker, forceOpenUntil: view.forcedOpenUntil },
    rateLimit: policy.rateLimit,
    orderingGuarantee: webhook.ordering,
    credentialHeaders: Object.fromEntries(credentialHeaderNames.map((name) => [name, masked])),
    clientCertificate: view.clientCertificate && {
      ...view.clientCertificate,
      fingerprintSha256: view.clientCertificate.fingerprint,
    },
    secret,
    lastFailureAt: view.lastFailedAt,
  });
}

/** The visible parts of a webhook. Only the views that exist to reveal a secret contain one. */

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
  /** What holds its deliveries now. */
  readonly gates: readonly DeliveryGate[];
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
