import { deadLetterFilters } from "../../core/fields/filters.ts";
import { Type } from "./type.ts";
import { recoverFields, retryBatchFields } from "../../core/fields/actions.ts";
import { listingQuery, closed, idSchema, oneOf } from "./building-blocks.ts";
import { schemaOf } from "./field-schema.ts";
import { startedProperties } from "./operation.ts";

export const deadLetterQuerySchema = listingQuery(deadLetterFilters);

export const retryBatchInputSchema = schemaOf(retryBatchFields, {
  title: "RetryBatchInput",
  examples: [{ filter: { failure_categories: ["server_error"] }, rate_limit: { requests_per_second: 10 } }],
});

export const recoverInputSchema = schemaOf(recoverFields, {
  title: "RecoverInput",
  examples: [{ since: "2026-01-31", dry_run: true }],
});

const inactiveWebhookSchema = closed(
  {
    webhook_id: idSchema("the webhook"),
    status: oneOf(["suspended", "disabled", "unverified"]),
    count: Type.Integer({
      minimum: 1,
      description: "Number of its dead letters in this selection, up to 10,000.",
    }),
  },
  { title: "InactiveWebhook" },
);

export const retryBatchStartedSchema = closed(
  {
    ...startedProperties,
    inactive_webhooks: Type.Array(inactiveWebhookSchema, {
      maxItems: 20,
      description:
        "Webhooks of these dead letters that are not active. Retried deliveries wait until they are.",
    }),
  },
  { title: "RetryBatchStarted" },
);
