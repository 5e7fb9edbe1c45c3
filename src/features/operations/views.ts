import type { BulkStarted, RecoveryStarted, RetryBatchStarted, Scope } from "../services.ts";
import { jsonOf } from "../../http/mapping.ts";
import type { BatchOperation, OperationSelection } from "../../ports/store/operations.ts";
import {
  bulkStartedSchema,
  operationSchema,
  operationStartedSchema,
  retryBatchStartedSchema,
} from "../../resources/operation.ts";
import { listedDeliveryJson } from "../deliveries/views.ts";

type Json = Record<string, unknown>;

export function operationJson(operation: BatchOperation): Json {
  return jsonOf(operationSchema, shownOf(operation));
}

function shownOf(operation: BatchOperation) {
  const { id, queued, failed, skipped, outcome } = operation;
  const done = queued + failed + Object.values(skipped).reduce((sum, count) => sum + count, 0);
  return {
    ...operation,
    // Named as in WDS-112, so that this response matches the response that started the operation.
    batchOperationId: id,
    filter: filterOf(operation.selection),
    totalIsExact: operation.isTotalExact,
    done,
    delivered: outcome?.delivered,
    failed: failed + (outcome?.failed ?? 0),
    waiting: outcome?.waiting,
    etaAt: etaOf(operation, done),
  };
}

/**
 * Estimates the end of the operation from the measured rate, or from the requested rate until a measured rate is
 * available.
 */
function etaOf(operation: BatchOperation, done: number): number | null {
  const { status, total, isTotalExact, ratePerSecond, requestsPerSecond, updatedAt } = operation;
  if (status !== "running" || !isTotalExact) return null;
  const pace = ratePerSecond === null || ratePerSecond === 0 ? requestsPerSecond : ratePerSecond;
  return Math.round(updatedAt + (Math.max(0, total - done) * 1_000) / pace);
}

const idsShownMax = 10;

/** Uses the filter names of the listings in camelCase; unset filters are omitted. */
function filterOf(selection: OperationSelection) {
  const { kind } = selection;
  if (kind === "ids")
    return withoutNulls({ ids: selection.ids.slice(0, idsShownMax), tenantId: selection.tenantId });
  if (kind === "dead_letters") {
    const { tenantId, webhookIds, eventTypes, categories, from, to } = selection;
    const lists = { webhookId: webhookIds, eventType: eventTypes, failureCategory: categories };
    return withoutNulls({ ...lists, tenantId, from, to });
  }
  if (kind === "deliveries") {
    const { tenantId, webhookIds: webhookId, states: status, from, to } = selection;
    return withoutNulls({ webhookId, status, tenantId, from, to });
  }
  const { filter, statuses: status, waitingFor } = selection;
  const { eventTypes, categories, origins, errorText, webhookIds, httpStatuses, ...others } = filter;
  const lists = {
    eventType: eventTypes,
    failureCategory: categories,
    origin: origins,
    webhookId: webhookIds,
  };
  const httpStatus = httpStatuses && [
    ...httpStatuses.codes.map(String),
    ...httpStatuses.classes.map((digit) => `${digit}xx`),
    ...(httpStatuses.none ? ["none"] : []),
  ];
  return withoutNulls({ ...others, ...lists, error: errorText, status, waitingFor, httpStatus });
}

function withoutNulls(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function startedOf({ operation, count, openCircuits }: RecoveryStarted) {
  return { batchOperationId: operation?.id, count, operation: operation && shownOf(operation), openCircuits };
}

export function operationStartedJson(started: RecoveryStarted): Json {
  return jsonOf(operationStartedSchema, startedOf(started));
}

export function bulkStartedJson(started: BulkStarted, scope: Scope): Json {
  const json = jsonOf(bulkStartedSchema, {
    ...started,
    ...startedOf(started),
    countIsExact: started.isExact,
    samples: [],
    filter: filterOf(started.selection),
    estimatedSeconds: started.durationMs === null ? null : started.durationMs / 1_000,
  });
  json["samples"] = started.samples.map((row) => listedDeliveryJson(row, ["webhook"], scope));
  return json;
}

export function retryBatchStartedJson(started: RetryBatchStarted): Json {
  return jsonOf(retryBatchStartedSchema, { ...startedOf(started), inactiveWebhooks: started.inactive });
}
