import type { RetryBatchStarted } from "../../services/services.ts";
import type { BatchOperation } from "../../ports/store/operations.ts";
import { formatInstant } from "./instant.ts";

export function operationJson(operation: BatchOperation): Record<string, unknown> {
  return {
    id: operation.id,
    // The name of WDS-112, so that the answer of the call that started it and this one read alike.
    batch_operation_id: operation.id,
    tenant_id: operation.tenantId,
    kind: operation.kind,
    status: operation.status,
    priority: operation.priority,
    requests_per_second: operation.requestsPerSecond,
    total: operation.total,
    queued: operation.queued,
    failed: operation.failed,
    created_at: formatInstant(operation.createdAt),
    updated_at: formatInstant(operation.updatedAt),
  };
}

export function operationStartedJson(started: {
  readonly operation: BatchOperation | null;
  readonly count: number;
}): Record<string, unknown> {
  const { operation, count } = started;
  return {
    batch_operation_id: operation?.id ?? null,
    count,
    operation: operation && operationJson(operation),
  };
}

export function retryBatchStartedJson(started: RetryBatchStarted): Record<string, unknown> {
  return {
    ...operationStartedJson(started),
    inactive_webhooks: started.inactive.map(({ webhookId, status, count }) => ({
      webhook_id: webhookId,
      status,
      count,
    })),
  };
}
