import type { BulkStarted, RecoveryStarted, RetryBatchStarted, Scope } from "../services.ts";
import { deliveryListFields } from "../../resources/delivery.ts";
import { apiName } from "../../resources/field.ts";
import type { BatchOperation, OperationSelection } from "../../ports/store/operations.ts";
import { listedDeliveryJson } from "../deliveries/views.ts";
import { formatInstant, formatInstantOrNull } from "../../http/mapping.ts";

type Json = Record<string, unknown>;

export function operationJson(operation: BatchOperation): Json {
  const { queued, failed, skipped, outcome } = operation;
  const done = queued + failed + Object.values(skipped).reduce((sum, count) => sum + count, 0);
  return {
    id: operation.id,
    // Named as in WDS-112, so that this response and the one of the starting call agree.
    batch_operation_id: operation.id,
    tenant_id: operation.tenantId,
    kind: operation.kind,
    status: operation.status,
    filter: filterJson(operation.selection),
    priority: operation.priority,
    requests_per_second: operation.requestsPerSecond,
    rate_per_second: operation.ratePerSecond,
    total: operation.total,
    total_is_exact: operation.isTotalExact,
    done,
    queued,
    skipped,
    delivered: outcome?.delivered ?? null,
    failed: failed + (outcome?.failed ?? 0),
    waiting: outcome?.waiting ?? null,
    eta_at: formatInstantOrNull(etaOf(operation, done)),
    last_errors: operation.lastErrors.map(({ deliveryId, message, at }) => ({
      delivery_id: deliveryId,
      message,
      at: formatInstant(at),
    })),
    starts_at: formatInstantOrNull(operation.startsAt),
    created_at: formatInstant(operation.createdAt),
    updated_at: formatInstant(operation.updatedAt),
    finished_at: formatInstantOrNull(operation.finishedAt),
  };
}

/** At the measured rate or, until there is one, at the requested rate. */
function etaOf(operation: BatchOperation, done: number): number | null {
  const { status, total, isTotalExact, ratePerSecond, requestsPerSecond, updatedAt } = operation;
  if (status !== "running" || !isTotalExact) return null;
  const pace = ratePerSecond === null || ratePerSecond === 0 ? requestsPerSecond : ratePerSecond;
  return Math.round(updatedAt + (Math.max(0, total - done) * 1_000) / pace);
}

const idsShownMax = 10;

/** With the filter names of the listings; unset filters are omitted. */
function filterJson(selection: OperationSelection): Json {
  const { kind } = selection;
  if (kind === "ids")
    return withoutNulls({ ids: selection.ids.slice(0, idsShownMax), tenant_id: selection.tenantId });
  if (kind === "dead_letters") {
    const { tenantId, webhookIds, eventTypes, categories, from, to } = selection;
    const lists = { webhook_id: webhookIds, event_type: eventTypes, failure_category: categories };
    return withoutNulls({ ...lists, tenant_id: tenantId, ...timesJson(from, to) });
  }
  if (kind === "deliveries") {
    const { tenantId, webhookId, eventId, states, from, to } = selection;
    const ids = { webhook_id: webhookId === null ? null : [webhookId], event_id: eventId };
    return withoutNulls({ ...ids, status: states, tenant_id: tenantId, ...timesJson(from, to) });
  }
  const { filter, statuses, waitingFor } = selection;
  const { states: _states, httpStatuses, from, to, ...others } = filter;
  const named = Object.entries(others).map(([name, value]) => [nameOf(name), value]);
  return withoutNulls({
    ...(Object.fromEntries(named) as Json),
    status: statuses,
    waiting_for: waitingFor,
    http_status:
      httpStatuses === null
        ? null
        : [
            ...httpStatuses.codes.map(String),
            ...httpStatuses.classes.map((digit) => `${digit}xx`),
            ...(httpStatuses.none ? ["none"] : []),
          ],
    ...timesJson(from, to),
  });
}

function nameOf(name: string): string {
  const field = Object.entries(deliveryListFields).find(([key]) => key === name)?.[1];
  return field === undefined ? name : apiName(name, field);
}

function timesJson(from: number | null, to: number | null): Json {
  return { from: formatInstantOrNull(from), to: formatInstantOrNull(to) };
}

function withoutNulls(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

export function operationStartedJson(started: RecoveryStarted): Json {
  const { operation, count, openCircuits } = started;
  return {
    batch_operation_id: operation?.id ?? null,
    count,
    operation: operation && operationJson(operation),
    open_circuits: openCircuits.map(({ webhookId, until, count: held }) => ({
      webhook_id: webhookId,
      until: formatInstantOrNull(until),
      count: held,
    })),
  };
}

export function bulkStartedJson(started: BulkStarted, scope: Scope): Json {
  return {
    ...operationStartedJson(started),
    count_is_exact: started.isExact,
    samples: started.samples.map((row) => listedDeliveryJson(row, ["webhook"], scope)),
    excluded: started.excluded,
    filter: filterJson(started.selection),
    requests_per_second: started.requestsPerSecond,
    estimated_seconds: started.durationMs === null ? null : started.durationMs / 1_000,
  };
}

export function retryBatchStartedJson(started: RetryBatchStarted): Json {
  return {
    ...operationStartedJson(started),
    inactive_webhooks: started.inactive.map(({ webhookId, status, count }) => ({
      webhook_id: webhookId,
      status,
      count,
    })),
  };
}
