import type { CircuitSnapshot } from "../../domain/circuit-breaker.ts";
import { attemptsMax } from "../../domain/retry-schedule.ts";
import type { WebhookRetryOverrides } from "../../domain/webhook.ts";
import {
  formatInstant,
  formatInstantOrNull,
  shownJson,
  snakeCase,
  snakeCaseJson,
} from "../../http/mapping.ts";
import type { StoredHistoryEntry } from "../../ports/store/webhooks.ts";
import { apiPath, type Fields } from "../../resources/field.ts";
import { rateLimitFields } from "../../resources/names.ts";
import { oauth2Shown } from "../../resources/webhook-credentials.ts";
import { circuitBreakerShown, webhookFields, webhookShownAsStored } from "../../resources/webhook.ts";
import { webhookUrlShown } from "../notifications/operational-event.ts";
import type { WebhookBacklogView, WebhookHealthView, WebhookSecretView, WebhookView } from "../services.ts";

/** `retry_config` in force, or the overrides of a webhook with null for values of its profile. */
function retryConfigJson({
  schedule,
  timeoutMs,
  timeoutGrowthFactor,
  ageMsMax,
}: WebhookRetryOverrides): Record<string, unknown> {
  const exponential = schedule?.kind === "exponential" ? schedule : null;
  return {
    max_attempts: schedule && attemptsMax(schedule),
    base_delay_ms: exponential?.baseDelayMs ?? null,
    max_delay_ms: exponential?.delayMsMax ?? null,
    backoff_multiplier: exponential?.multiplier ?? null,
    timeout_ms: timeoutMs,
    timeout_growth_factor: timeoutGrowthFactor,
    schedule_ms: schedule?.kind === "list" ? schedule.delaysMs : null,
    max_age_ms: ageMsMax,
  };
}

/** Replaces a secret in responses. It cannot be sent back as a value. */
const masked = "…";

function credentialsJson(view: WebhookView): Record<string, unknown> {
  const { webhook, clientCertificate, credentialHeaderNames } = view;
  return {
    has_bearer_token: view.hasBearerToken,
    credential_headers: Object.fromEntries(credentialHeaderNames.map((name) => [name, masked])),
    client_certificate: clientCertificate && {
      subject: clientCertificate.subject,
      issuer: clientCertificate.issuer,
      fingerprint_sha256: clientCertificate.fingerprint,
      expires_at: formatInstant(clientCertificate.expiresAt),
      warning: clientCertificate.warning,
    },
    oauth2: webhook.oauth2 && shownJson(oauth2Shown, webhook.oauth2),
  };
}

type Json = Record<string, unknown>;

export function timelineJson(entry: StoredHistoryEntry): Json {
  return {
    at: formatInstant(entry.at),
    kind: entry.kind,
    by: byJson(entry),
    reason: entry.reason,
    revision: entry.revision,
    changed: Object.keys(entry.changes).map(fieldName),
  };
}

export function revisionJson(entry: StoredHistoryEntry): Json {
  const changes = Object.entries(entry.changes).map(([name, change]) => {
    const shown = Object.entries(change).map(([when, value]) => [when, valueJson(name, value)]);
    return [fieldName(name), Object.fromEntries(shown) as Json];
  });
  return {
    revision: entry.revision,
    at: formatInstant(entry.at),
    by: byJson(entry),
    changes: Object.fromEntries(changes) as Json,
  };
}

function byJson({ by }: StoredHistoryEntry): Json | null {
  return by && { kind: by.kind, key_name: by.keyName, reference: by.reference };
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
  return name === "retry" ? retryConfigJson(value as WebhookRetryOverrides) : snakeCaseJson(value);
}

/** Circuit breaker state as in WDS-89 to 99. */
export function circuitJson(webhookId: string, circuit: CircuitSnapshot): Record<string, unknown> {
  return {
    webhook_id: webhookId,
    state: circuit.state,
    failure_count_in_window: circuit.failureCountInWindow,
    success_count_in_window: circuit.successCountInWindow,
    total_calls_in_window: circuit.totalCallsInWindow,
    error_percentage: circuit.errorPercentage,
    window_start: formatInstant(circuit.windowStart),
    state_transition_at: formatInstant(circuit.stateTransitionAt),
    next_half_open_at: formatInstantOrNull(circuit.nextHalfOpenAt),
    half_open_attempts: circuit.halfOpenAttempts,
    half_open_successes: circuit.halfOpenSuccesses,
    forced_open_until: formatInstantOrNull(circuit.forcedOpenUntil),
    forced_closed_until: formatInstantOrNull(circuit.forcedClosedUntil),
  };
}

export function healthJson(health: WebhookHealthView): Record<string, unknown> {
  const { stats } = health;
  return {
    webhook_id: health.webhookId,
    health: health.health,
    status: health.status,
    status_reason: health.statusReason,
    circuit_breaker: circuitJson(health.webhookId, health.circuit),
    paused_until: formatInstantOrNull(health.pausedUntil),
    pause_reason: health.pauseReason,
    in_flight: health.inFlight,
    stats: {
      since: formatInstant(health.statsSince),
      total: stats.total,
      accepted: stats.accepted,
      transient: stats.transient,
      terminal: stats.terminal,
      duration_ms_p50: stats.durationMsP50,
      duration_ms_p95: stats.durationMsP95,
      last_attempt_at: formatInstantOrNull(stats.lastAttemptAt),
    },
    error_distribution: stats.byCategory,
    last_success_at: formatInstantOrNull(health.lastSuccessAt),
    disables_at: formatInstantOrNull(health.disablesAt),
  };
}

export function secretJson({ secret, previous }: WebhookSecretView): Record<string, unknown> {
  return {
    secret,
    previous: previous && { secret: previous.secret, expires_at: formatInstant(previous.expiresAt) },
  };
}

export function backlogJson(backlog: WebhookBacklogView): Record<string, unknown> {
  return {
    webhook_id: backlog.webhookId,
    waiting: backlog.waiting,
    total: backlog.total,
    more: backlog.isMore,
    oldest_created_at: formatInstantOrNull(backlog.oldestCreatedAt),
    accepted_per_second: backlog.perSecond,
    drain_seconds: backlog.drainMs === null ? null : backlog.drainMs / 1_000,
  };
}

function verificationJson({ webhook, dnsRecord }: WebhookView): Record<string, unknown> {
  const { verification } = webhook;
  return {
    method: verification.method,
    state: verification.state,
    detail: verification.detail,
    granted_at: formatInstantOrNull(verification.grantedAt),
    requested_rate_per_minute: verification.requestedRatePerMinute,
    allowed_rate_per_minute: verification.allowedRatePerMinute,
    when_unsupported: verification.whenUnsupported,
    dns_record: dnsRecord,
  };
}

/** `secret` is included unmasked only in the response that creates it. */
export function webhookJson(
  view: WebhookView,
  secret: string | null = view.secretHint,
): Record<string, unknown> {
  const { webhook, policy } = view;
  return {
    id: webhook.id,
    ...shownJson(webhookShownAsStored, webhook),
    url: webhookUrlShown(webhook),
    active: webhook.status === "active",
    status: webhook.status,
    status_reason: webhook.statusReason,
    health: view.health,
    pause: view.pause && {
      since: formatInstant(view.pause.since),
      until: formatInstantOrNull(view.pause.until),
      reason: view.pause.reason,
    },
    profile: policy.profile,
    signing: { schemes: policy.signatureSchemes },
    payload_format: policy.payloadFormat,
    verification: verificationJson(view),
    retry_config: retryConfigJson(policy),
    timeout_ms: policy.timeoutMs,
    circuit_breaker_config: shownJson(circuitBreakerShown, {
      ...policy.circuitBreaker,
      forceOpenUntil: view.forcedOpenUntil,
    }),
    rate_limit: policy.rateLimit && shownJson(rateLimitFields, policy.rateLimit),
    ...credentialsJson(view),
    secret,
    created_at: formatInstant(webhook.createdAt),
    updated_at: formatInstant(webhook.updatedAt),
    revision: webhook.revision,
    last_success_at: formatInstantOrNull(view.lastSuccessAt),
    last_failure_at: formatInstantOrNull(view.lastFailedAt),
  };
}
