import { webhookUrlShown } from "../../core/notifications/operational-event.ts";
import { rateLimitFields } from "../../core/fields/tenant.ts";
import { circuitBreakerShown, webhookShownAsStored } from "../../core/fields/webhook.ts";
import type { WebhookView } from "../../services/services.ts";
import { shownJson } from "./fields.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";
import { retryConfigJson } from "./retry-config.ts";
import { credentialsJson } from "./webhook-credentials.ts";
import { verificationJson } from "./webhook-verification.ts";

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
