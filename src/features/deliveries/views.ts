import type { AttemptTimings } from "../../domain/attempt-trace.ts";
import type { AttemptRecord, DeliveryRetry } from "../../domain/delivery.ts";
import type { DeliveryGate } from "../../domain/gate-explanation.ts";
import { classifyAddress } from "../../domain/egress/address-policy.ts";
import type { AttemptName, DeliveryView, ListedDelivery, RenderedRequest, Scope } from "../services.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import {
  attemptSchema,
  deliverySchema,
  deliveryWithAttemptsSchema,
  differenceTexts,
  renderedRequestSchema,
  webhookSummarySchema,
} from "../../resources/delivery.ts";
import { jsonOf } from "../../http/mapping.ts";

export function deliveryJson(view: DeliveryView): Record<string, unknown> {
  return jsonOf(deliverySchema, shownOf(view));
}

function shownOf(view: DeliveryView) {
  const { delivery } = view;
  const { progress, lastAttempt: last } = delivery;
  return {
    ...view,
    ...delivery,
    ...progress,
    status: view.status,
    lastAttemptAt: last?.executedAt,
    lastHttpStatusCode: last?.statusCode,
    lastDurationMs: last?.durationMs,
    failureCategory: delivery.category,
    retriedAt: progress.retried?.at,
  };
}

/** Adds the optional parts that `include` requests. */
export function listedDeliveryJson(
  row: ListedDelivery,
  include: readonly string[],
  scope: Scope,
): Record<string, unknown> {
  const { delivery, webhook, webhookHealth: health } = row;
  const { lastAttempt: last } = delivery;
  const json = deliveryJson(row);
  if (include.includes("last_attempt"))
    json["last_attempt"] = last === null ? null : attemptJson(last, delivery, last, scope);
  if (include.includes("webhook"))
    json["webhook"] = webhook && jsonOf(webhookSummarySchema, { ...webhook, health });
  return json;
}

export function deliveryWithAttemptsJson(
  view: DeliveryView,
  attempts: readonly AttemptRecord[],
  scope: Scope,
): Record<string, unknown> {
  const { lane, retries } = view.delivery;
  const { gates, waits, ...shown } = shownOf(view);
  const json = jsonOf(deliveryWithAttemptsSchema, {
    ...shown,
    lane: { orderingGuarantee: lane.ordering, eventType: lane.eventType },
    gates: gates.map((gate) => shownGate(gate, scope)),
    receiverStateUnknown: attempts.at(-1)?.receiverStateUnknown ?? false,
    waits: [...attempts.flatMap(({ notes }) => notes?.waits ?? []), ...waits],
    attempts: [],
    retries: retries.map((retry) => shownRetry(retry, scope)),
  });
  json["attempts"] = attempts.map((attempt) => attemptJson(attempt, view.delivery, attempts.at(-1), scope));
  return json;
}

/** Hides from customers workers, the limits of others, and remedies that a customer cannot apply. */
export function shownGate(gate: DeliveryGate, scope: Scope): DeliveryGate {
  if (scope.portal === undefined) return gate;
  const remedy = /^\/v1\/webhooks\/[^/]+\/(enable|resume|verify|deliveries\/.*)$/.test(
    gate.remedy?.path ?? "",
  )
    ? gate.remedy
    : null;
  return { ...gate, remedy, cause: causesOfCustomers[gate.gate] ?? gate.cause };
}

const causesOfCustomers: Readonly<Record<string, string>> = {
  capacity: "The delivery is queued.",
  tenant_rate_limit: "The delivery is queued.",
};

/** An attempt as defined by WDS-67 to WDS-80. */
function attemptJson(
  attempt: AttemptRecord,
  delivery: StoredDelivery,
  last: AttemptRecord | undefined,
  scope: Scope,
): Record<string, unknown> {
  const failedStatus = attempt === last && delivery.progress.state === "exhausted" ? "exhausted" : "failed";
  const { notes, outcome } = attempt;
  const trace = notes?.trace ?? null;
  return jsonOf(attemptSchema, {
    ...attempt,
    webhookId: delivery.webhookId,
    eventId: delivery.eventId,
    attemptNumber: attempt.number,
    status: outcome === "accepted" ? "success" : failedStatus,
    failureCategory: attempt.category,
    httpStatusCode: attempt.statusCode,
    responseBodySample: attempt.responseSample,
    // The error message may reveal details of this machine and its network.
    errorMessage: scope.portal === undefined ? attempt.errorMessage : null,
    retryAfter: notes?.retryAfter,
    // A request that the circuit breaker blocked was never sent. It is not an attempt and is listed in `waits`.
    circuitBreakerPrevented: false,
    url: trace?.url,
    httpVersion: trace?.httpVersion,
    peerAddress: shownPeer(trace?.peerAddress ?? null, scope),
    responseHeaders: trace && headersJson(trace.responseHeaders),
    timingsMs: trace && timingsOf(trace.timings),
    configRevision: trace?.configRevision,
    metadataTruncated: trace?.truncated ?? false,
  });
}

/** Hides internal addresses, which tenants must not see even if the operator has allowed them as targets. */
function shownPeer(address: string | null, scope: Scope): string | null {
  if (address === null || scope.tenantId === null) return address;
  return classifyAddress(address) === "public" ? address : null;
}

/** Converts headers to a list, because a name may occur more than once. */
function headersJson(flat: readonly string[]): readonly Record<string, unknown>[] {
  return flat.flatMap((name, at) => (at % 2 === 0 ? [{ name, value: flat[at + 1] ?? "" }] : []));
}

function timingsOf({ dnsMs: dns, connectMs: connect, tlsMs: tls, waitMs: wait }: AttemptTimings) {
  return { dns, connect, tls, wait };
}

export function renderedRequestJson(
  { deliveryId, number: attemptNumber }: AttemptName,
  { body, headers, differences, ...request }: RenderedRequest,
): Record<string, unknown> {
  return jsonOf(renderedRequestSchema, {
    ...request,
    deliveryId,
    attemptNumber,
    headers: headersJson(headers),
    bodyBase64: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64"),
    exact: differences.length === 0,
    mayDiffer: differences.map(({ parts, why }) => ({ parts, reason: why, detail: differenceTexts[why] })),
  });
}

/**
 * Hides from customers the name of the operator or tenant that retried a delivery. Customers must not learn who
 * operates the server.
 */
function shownRetry(retry: DeliveryRetry, scope: Scope): DeliveryRetry {
  const { by } = retry;
  const showsName = scope.portal === undefined || by?.kind === "portal_session";
  return { ...retry, by: by && { ...by, name: showsName ? by.name : null } };
}
