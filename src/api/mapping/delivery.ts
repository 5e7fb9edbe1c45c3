import type { AttemptRecord, DeliveryWait } from "../../core/delivery.ts";
import type { DeliveryHandle, DeliveryView, ListedDelivery } from "../../services/services.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";

export function deliveryJson(view: DeliveryView): Record<string, unknown> {
  const { delivery } = view;
  const { progress } = delivery;
  return {
    id: delivery.id,
    webhook_id: delivery.webhookId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    tenant_id: delivery.tenantId,
    status: view.status,
    priority: delivery.priority,
    origin: delivery.origin,
    attempt_count: progress.attemptCount,
    waiting_for: view.waitingFor,
    waiting_until: formatInstantOrNull(view.waitingUntil),
    next_attempt_at: formatInstantOrNull(view.nextAttemptAt),
    created_at: formatInstant(progress.createdAt),
    first_attempt_at: formatInstantOrNull(progress.firstAttemptAt),
    completed_at: formatInstantOrNull(delivery.completedAt),
    last_attempt_at: formatInstantOrNull(delivery.lastAttempt?.executedAt ?? null),
    last_http_status_code: delivery.lastAttempt?.statusCode ?? null,
    last_duration_ms: delivery.lastAttempt?.durationMs ?? null,
    failure_category: delivery.category,
    reason: progress.reason,
    superseded_by: delivery.supersededBy,
  };
}

/** With what `include` asks for. */
export function listedDeliveryJson(row: ListedDelivery, include: readonly string[]): Record<string, unknown> {
  const { delivery, webhook } = row;
  const { lastAttempt: last } = delivery;
  return {
    ...deliveryJson(row),
    ...(include.includes("last_attempt") && {
      last_attempt: last === null ? null : attemptJson(last, { delivery, last }),
    }),
    ...(include.includes("webhook") && {
      webhook: webhook && {
        id: webhook.id,
        url: webhook.url,
        description: webhook.description,
        status: webhook.status,
      },
    }),
  };
}

export function deliveryWithAttemptsJson(
  view: DeliveryView,
  attempts: readonly AttemptRecord[],
): Record<string, unknown> {
  return {
    ...deliveryJson(view),
    receiver_state_unknown: attempts.at(-1)?.receiverStateUnknown ?? false,
    waits: [...attempts.flatMap(({ notes }) => notes?.waits ?? []), ...view.waits].map(waitJson),
    attempts: attempts.map((attempt) =>
      attemptJson(attempt, { delivery: view.delivery, last: attempts.at(-1) }),
    ),
  };
}

function waitJson({ reason, from, until }: DeliveryWait): Record<string, unknown> {
  return { reason, from: formatInstant(from), until: formatInstant(until) };
}

/** WDS-67 to 80. */
function attemptJson(
  attempt: AttemptRecord,
  { delivery, last }: { readonly delivery: StoredDelivery; readonly last: AttemptRecord | undefined },
): Record<string, unknown> {
  const failedStatus = attempt === last && delivery.progress.state === "exhausted" ? "exhausted" : "failed";
  return {
    id: attempt.id,
    webhook_id: delivery.webhookId,
    event_id: delivery.eventId,
    attempt_number: attempt.number,
    status: attempt.outcome === "accepted" ? "success" : failedStatus,
    outcome: attempt.outcome,
    failure_category: attempt.category,
    http_status_code: attempt.statusCode,
    response_body_sample: attempt.responseSample,
    error_message: attempt.errorMessage,
    duration_ms: attempt.durationMs,
    scheduled_at: formatInstant(attempt.scheduledAt),
    executed_at: formatInstant(attempt.executedAt),
    next_retry_at: formatInstantOrNull(attempt.nextRetryAt),
    retry_after: attempt.notes?.retryAfter ?? null,
    // A request that the circuit held back was never made, so it is no attempt (C-40): it stands in `waits`.
    circuit_breaker_prevented: false,
    receiver_state_unknown: attempt.receiverStateUnknown,
  };
}

export function handleJson(handle: DeliveryHandle): Record<string, unknown> {
  return { delivery_id: handle.deliveryId, webhook_id: handle.webhookId };
}
