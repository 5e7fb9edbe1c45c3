import { deadLetterFilters } from "../../core/fields/filters.ts";
import { Type } from "./type.ts";
import { priorities } from "../../core/delivery.ts";
import { recoverFields, retryBatchFields } from "../../core/fields/actions.ts";
import { listingQuery, closed, id, instant, listOf, nullable, oneOf } from "./building-blocks.ts";
import { schemaOf } from "./field-schema.ts";

export const deadLetterQuerySchema = listingQuery(deadLetterFilters);

export const retryBatchInputSchema = schemaOf(retryBatchFields, {
  title: "RetryBatchInput",
  examples: [{ filter: { failure_categories: ["server_error"] }, rate_limit: { requests_per_second: 10 } }],
});

export const recoverInputSchema = schemaOf(recoverFields, {
  title: "RecoverInput",
  examples: [{ since: "2026-01-31", dry_run: true }],
});

export const operationSchema = closed(
  {
    id: id("the operation"),
    batch_operation_id: id("the operation"),
    tenant_id: nullable(Type.String()),
    kind: oneOf(["dlq_retry", "recover"]),
    status: oneOf(["pending", "running", "completed", "cancelled", "failed"]),
    priority: oneOf(priorities),
    requests_per_second: Type.Number(),
    total: Type.Integer({ description: "Known at the start, and counted no further than a bound." }),
    queued: Type.Integer(),
    failed: Type.Integer(),
    created_at: instant("When it was asked for."),
    updated_at: instant("Last progress."),
  },
  { title: "BatchOperation" },
);

export const operationListSchema = listOf(operationSchema, "BatchOperationList");

const startedProperties = {
  batch_operation_id: nullable(id("the operation; null with `dry_run`")),
  count: Type.Integer({ minimum: 0 }),
  operation: nullable(operationSchema),
};

export const operationStartedSchema = closed(startedProperties, { title: "BatchOperationStarted" });

const inactiveWebhookSchema = closed(
  {
    webhook_id: id("the webhook"),
    status: oneOf(["suspended", "disabled", "unverified"]),
    count: Type.Integer({ minimum: 1, description: "Its dead letters in this selection, at most 10,000." }),
  },
  { title: "InactiveWebhook" },
);

export const retryBatchStartedSchema = closed(
  {
    ...startedProperties,
    inactive_webhooks: Type.Array(inactiveWebhookSchema, {
      maxItems: 20,
      description:
        "Webhooks of these dead letters that are not active. What is retried there waits until they are.",
    }),
  },
  { title: "RetryBatchStarted" },
);
