import type { AttemptTimings, AttemptTrace } from "../../domain/attempt-trace.ts";
import type { AttemptRecord, DeliveryRetry, DeliveryWait } from "../../domain/delivery.ts";
import type { DeliveryGate } from "../../domain/gate-explanation.ts";
import { classifyAddress } from "../../domain/egress/address-policy.ts";
import type {
  AttemptName,
  DeliveryHandle,
  DeliveryView,
  ListedDelivery,
  RenderedRequest,
  RetriedDelivery,
  Scope,
} from "../services.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import { differenceTexts } from "../../resources/delivery.ts";
import { formatInstant, formatInstantOrNull } from "../../http/mapping.ts";

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
    retried_at: formatInstantOrNull(progress.retried?.at ?? null),
    replay_of: delivery.replayOf,
    replayed_by: delivery.replayedBy,
  };
}

/** Includes the parts that `include` requests. */
export function listedDeliveryJson(
  row: ListedDelivery,
  include: readonly string[],
  scope: Scope,
): Record<string, unknown> {
  const { delivery, webhook } = row;
  const { lastAttempt: last } = delivery;
  return {
    ...deliveryJson(row),
    ...(include.includes("last_attempt") && {
      last_attempt: last === null ? null : attemptJson(last, delivery, last, scope),
    }),
    ...(include.includes("webhook") && {
      webhook: webhook && {
        id: webhook.id,
        url: webhook.url,
        description: webhook.description,
        status: webhook.status,
        health: row.webhookHealth,
      },
    }),
  };
}

export function deliveryWithAttemptsJson(
  view: DeliveryView,
  attempts: readonly AttemptRecord[],
  scope: Scope,
): Record<string, unknown> {
  return {
    ...deliveryJson(view),
    lane: { ordering_guarantee: view.delivery.lane.ordering, event_type: view.delivery.lane.eventType },
    gates: view.gates.map((gate) => gateJson(gate, scope)),
    receiver_state_unknown: attempts.at(-1)?.receiverStateUnknown ?? false,
    waits: [...attempts.flatMap(({ notes }) => notes?.waits ?? []), ...view.waits].map(waitJson),
    attempts: attempts.map((attempt) => attemptJson(attempt, view.delivery, attempts.at(-1), scope)),
    retries: view.delivery.retries.map((retry) => retryJson(retry, scope)),
  };
}

function waitJson({ reason, from, until }: DeliveryWait): Record<string, unknown> {
  return { reason, from: formatInstant(from), until: formatInstant(until) };
}

function gateJson(given: DeliveryGate, { portal }: Scope): Record<string, unknown> {
  const { gate, since, until, cause, remedy } = portal === undefined ? given : gateOfCustomer(given);
  return {
    gate,
    since: formatInstantOrNull(since),
    until: formatInstantOrNull(until),
    cause,
    remedy: remedy && { text: remedy.text, method: remedy.method, path: remedy.path, body: remedy.body },
  };
}

/** Hides workers, the limits of others, and remedies that a customer cannot apply. */
function gateOfCustomer(gate: DeliveryGate): DeliveryGate {
  const remedy = /^\/v1\/webhooks\/[^/]+\/(enable|resume|verify|deliveries\/.*)$/.test(
    gate.remedy?.path ?? "",
  )
    ? gate.remedy
    : null;
  return { ...gate, remedy, cause: causesOfCustomers[gate.gate] ?? gate.cause };
}

const causesOfCustomers: Readonly<Record<string, string>> = {
  capacity: "The delivery is waiting for its turn.",
  tenant_rate_limit: "The delivery is waiting for its turn.",
};

/** An attempt as in WDS-67 to 80. */
function attemptJson(
  attempt: AttemptRecord,
  delivery: StoredDelivery,
  last: AttemptRecord | undefined,
  scope: Scope,
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
    // The message may reveal details of this machine and its network.
    error_message: scope.portal === undefined ? attempt.errorMessage : null,
    duration_ms: attempt.durationMs,
    scheduled_at: formatInstant(attempt.scheduledAt),
    executed_at: formatInstant(attempt.executedAt),
    next_retry_at: formatInstantOrNull(attempt.nextRetryAt),
    retry_after: attempt.notes?.retryAfter ?? null,
    // A request that the circuit breaker blocked was never sent. It is not an attempt and is listed in `waits`.
    circuit_breaker_prevented: false,
    receiver_state_unknown: attempt.receiverStateUnknown,
    ...traceJson(attempt.notes?.trace ?? null, scope),
  };
}

function traceJson(trace: AttemptTrace | null, scope: Scope): Record<string, unknown> {
  return {
    url: trace?.url ?? null,
    http_version: trace?.httpVersion ?? null,
    peer_address: shownPeer(trace?.peerAddress ?? null, scope),
    response_headers: trace === null ? null : headersJson(trace.responseHeaders),
    timings_ms: trace === null ? null : timingsJson(trace.timings),
    config_revision: trace?.configRevision ?? null,
    metadata_truncated: trace?.truncated ?? false,
  };
}

/** Tenants must not see internal addresses that the operator allows requests to. */
function shownPeer(address: string | null, scope: Scope): string | null {
  if (address === null || scope.tenantId === null) return address;
  return classifyAddress(address) === "public" ? address : null;
}

/** As a list, because a name may occur twice. */
function headersJson(flat: readonly string[]): readonly Record<string, unknown>[] {
  return flat.flatMap((name, at) => (at % 2 === 0 ? [{ name, value: flat[at + 1] ?? "" }] : []));
}

function timingsJson({ dnsMs, connectMs, tlsMs, waitMs }: AttemptTimings): Record<string, unknown> {
  return { dns: dnsMs, connect: connectMs, tls: tlsMs, wait: waitMs };
}

export function renderedRequestJson(
  { deliveryId, number }: AttemptName,
  { method, url, headers, body, differences }: RenderedRequest,
): Record<string, unknown> {
  return {
    delivery_id: deliveryId,
    attempt_number: number,
    method,
    url,
    headers: headersJson(headers),
    body_base64: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64"),
    exact: differences.length === 0,
    may_differ: differences.map(({ parts, why }) => ({ parts, reason: why, detail: differenceTexts[why] })),
  };
}

export function retriedJson({
  deliveryId,
  webhookId,
  replayOf,
  ...held
}: RetriedDelivery): Record<string, unknown> {
  return {
    delivery_id: deliveryId,
    webhook_id: webhookId,
    replay_of: replayOf,
    status: held.status,
    waiting_for: held.waitingFor,
    waiting_until: formatInstantOrNull(held.waitingUntil),
  };
}

/** Customers do not see who operates the server. */
function retryJson(
  { at, attemptCount, by, operationId }: DeliveryRetry,
  scope: Scope,
): Record<string, unknown> {
  const showsName = scope.portal === undefined || by?.kind === "portal_session";
  return {
    at: formatInstant(at),
    attempt_count: attemptCount,
    by: by && { kind: by.kind, name: showsName ? by.name : null },
    operation_id: operationId,
  };
}

export function handleJson(handle: DeliveryHandle): Record<string, unknown> {
  return { delivery_id: handle.deliveryId, webhook_id: handle.webhookId };
}
