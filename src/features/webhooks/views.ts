import type { CircuitSnapshot } from "../../domain/circuit-breaker.ts";
import { attemptsMax } from "../../domain/retry-schedule.ts";
import type { Scope } from "../../domain/scope.ts";
import type { WebhookRetryOverrides } from "../../domain/webhook.ts";
import { jsonOf, snakeCase, snakeCaseJson } from "../../http/mapping.ts";
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
import type { WebhookBacklogView, WebhookHealthView, WebhookSecretView, WebhookView } from "../services.ts";

/** The effective `retry_config`, or a webhook's overrides with null for values taken from its profile. */
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

/** Shown in place of a secret in responses. It is rejected as an input value. */
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

/** Circuit breaker state as defined by WDS-89 to WDS-99. */
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

/** Converts a webhook to its API form. Only the response that creates a webhook contains an unmasked `secret`. */
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
