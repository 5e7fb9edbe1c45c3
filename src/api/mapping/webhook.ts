import { InvalidRequestError } from "../../core/errors.ts";
import type { FieldError } from "../../core/errors.ts";
import type { DeliveryPolicy } from "../../core/delivery-policy.ts";
import type { CircuitBreakerConfig } from "../../core/profile.ts";
import type { RetryInput, WebhookInput, WebhookView } from "../../engine/services.ts";
import type { WebhookCreate, WebhookUpdate } from "../schemas/webhook.ts";
import { present } from "./absent.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";
import { credentialsJson, toCredentials } from "./webhook-credentials.ts";
import { toVerification, verificationJson } from "./webhook-verification.ts";

/** Throws `invalid_request` for combinations that a schema cannot express well. */
export function toWebhookInput(body: WebhookCreate | WebhookUpdate): WebhookInput {
  refuseCombinations(body);
  return {
    ...present("url", body.url),
    ...present("events", body.events),
    ...present("description", body.description),
    ...present("ownerId", body.owner_id),
    ...present("active", body.active),
    ...present("profile", body.profile),
    ...present("schemes", body.signing?.schemes),
    ...present("payloadFormat", body.payload_format),
    ...toCredentials(body),
    ...present("http2", body.http2),
    ...present("migrationHeaders", body.migration_headers),
    ...present("agreements", body.agreements && toAgreements(body.agreements)),
    ...toVerification(body),
    ...present("retry", body.retry_config && toRetryInput(body.retry_config)),
    ...present("timeoutMs", body.timeout_ms),
    ...present(
      "circuitBreaker",
      body.circuit_breaker_config && toCircuitBreaker(body.circuit_breaker_config),
    ),
    ...present("rateLimit", body.rate_limit && toRateLimit(body.rate_limit)),
    ...present("ordering", body.ordering_guarantee),
    ...present("headers", body.headers),
    ...present("metadata", body.metadata),
    ...("secret" in body ? present("secret", body.secret) : {}),
    ...("tenant_id" in body ? present("tenantId", body.tenant_id) : {}),
  };
}

function refuseCombinations(body: WebhookCreate | WebhookUpdate): void {
  const errors: FieldError[] = [];
  const retry = body.retry_config;
  if (
    retry?.timeout_ms !== undefined &&
    body.timeout_ms !== undefined &&
    retry.timeout_ms !== body.timeout_ms
  ) {
    errors.push({ field: "timeout_ms", message: "contradicts retry_config.timeout_ms" });
  }
  if (retry?.schedule_ms !== undefined) {
    for (const name of ["max_attempts", "base_delay_ms", "max_delay_ms", "backoff_multiplier"] as const) {
      if (retry[name] === undefined) continue;
      errors.push({
        field: `retry_config.${name}`,
        message: "cannot be combined with retry_config.schedule_ms",
      });
    }
  }
  if (errors.length > 0) throw new InvalidRequestError("The body is not valid.", errors);
}

function toAgreements(
  agreements: NonNullable<WebhookUpdate["agreements"]>,
): NonNullable<WebhookInput["agreements"]> {
  return {
    ...present("acceptMultiStatus", agreements.accept_multi_status),
    ...present("followPermanentRedirect", agreements.follow_permanent_redirect),
    ...present("idempotencyEnforced", agreements.idempotency_enforced),
  };
}

function toRetryInput(retry: NonNullable<WebhookUpdate["retry_config"]>): RetryInput {
  return {
    ...present("maxAttempts", retry.max_attempts),
    ...present("baseDelayMs", retry.base_delay_ms),
    ...present("maxDelayMs", retry.max_delay_ms),
    ...present("backoffMultiplier", retry.backoff_multiplier),
    ...present("timeoutMs", retry.timeout_ms),
    ...present("timeoutGrowthFactor", retry.timeout_growth_factor),
    ...present("scheduleMs", retry.schedule_ms),
    ...present("maxAgeMs", retry.max_age_ms),
  };
}

function toCircuitBreaker(
  circuitBreaker: NonNullable<WebhookUpdate["circuit_breaker_config"]>,
): Partial<CircuitBreakerConfig> {
  return {
    ...present("enabled", circuitBreaker.enabled),
    ...present("errorThresholdPercentage", circuitBreaker.error_threshold_percentage),
    ...present("minimumThroughput", circuitBreaker.minimum_throughput),
    ...present("windowSizeMs", circuitBreaker.window_size_ms),
    ...present("sleepWindowMs", circuitBreaker.sleep_window_ms),
    ...present("halfOpenMaxCalls", circuitBreaker.half_open_max_calls),
  };
}

function toRateLimit(limit: NonNullable<WebhookUpdate["rate_limit"]>) {
  return { requestsPerMinute: limit.requests_per_minute, burst: limit.burst };
}

/** `secret` in clear only for the answer that created it. */
export function webhookJson(
  view: WebhookView,
  secret: string | null = view.secretHint,
): Record<string, unknown> {
  const { webhook, policy } = view;
  return {
    id: webhook.id,
    tenant_id: webhook.tenantId,
    owner_id: webhook.ownerId,
    url: webhook.url,
    events: webhook.events,
    description: webhook.description,
    active: webhook.status === "active",
    status: webhook.status,
    status_reason: webhook.statusReason,
    profile: policy.profile,
    signing: { schemes: policy.signatureSchemes },
    payload_format: policy.payloadFormat,
    verification: verificationJson(view),
    retry_config: retryConfigJson(policy),
    timeout_ms: policy.timeoutMs,
    circuit_breaker_config: circuitBreakerConfigJson(view),
    rate_limit: policy.rateLimit && {
      requests_per_minute: policy.rateLimit.requestsPerMinute,
      burst: policy.rateLimit.burst,
    },
    ordering_guarantee: webhook.ordering,
    headers: webhook.headers,
    ...credentialsJson(view),
    http2: webhook.http2,
    migration_headers: webhook.migrationHeaders,
    agreements: {
      accept_multi_status: webhook.agreements.acceptMultiStatus,
      follow_permanent_redirect: webhook.agreements.followPermanentRedirect,
      idempotency_enforced: webhook.agreements.idempotencyEnforced,
    },
    secret,
    metadata: webhook.metadata,
    created_at: formatInstant(webhook.createdAt),
    updated_at: formatInstant(webhook.updatedAt),
    last_success_at: formatInstantOrNull(view.lastSuccessAt),
  };
}

function retryConfigJson(policy: DeliveryPolicy): Record<string, unknown> {
  const { schedule } = policy;
  const exponential = schedule.kind === "exponential" ? schedule : null;
  return {
    max_attempts: policy.attemptsMax,
    base_delay_ms: exponential?.baseDelayMs ?? null,
    max_delay_ms: exponential?.delayMsMax ?? null,
    backoff_multiplier: exponential?.multiplier ?? null,
    timeout_ms: policy.timeoutMs,
    timeout_growth_factor: policy.timeoutGrowthFactor,
    schedule_ms: schedule.kind === "list" ? schedule.delaysMs : null,
    max_age_ms: policy.ageMsMax,
  };
}

function circuitBreakerConfigJson({ policy, forcedOpenUntil }: WebhookView): Record<string, unknown> {
  const { circuitBreaker } = policy;
  return {
    enabled: circuitBreaker.enabled,
    error_threshold_percentage: circuitBreaker.errorThresholdPercentage,
    minimum_throughput: circuitBreaker.minimumThroughput,
    window_size_ms: circuitBreaker.windowSizeMs,
    sleep_window_ms: circuitBreaker.sleepWindowMs,
    half_open_max_calls: circuitBreaker.halfOpenMaxCalls,
    force_open_until: formatInstantOrNull(forcedOpenUntil),
  };
}
