import { deliveryOrigins, deliveryStatuses, priorities, waitingReasons } from "../domain/delivery.ts";
import { failureCategories } from "../domain/classify.ts";
import { exclusions, operationKinds, operationStatuses } from "../ports/store/operations.ts";
import {
  closeCircuits,
  endingsPerSecond,
  newRate,
  recoverFields,
  requestsPerSecond,
  retryBatchFields,
} from "./actions.ts";
import { deliveryListFields, listedDeliverySchema } from "./delivery.ts";
import { choice, type Fields, flag, id, list, nullable, object, timeOrDate } from "./field.ts";
import { eventTypeField, tenantIdField } from "./names.ts";
import { defineResource } from "./resource.ts";
import {
  closed,
  idParam,
  idSchema,
  instant,
  instantOrNull,
  listingQuery,
  listOf,
  nullableSchema,
  oneOf,
  schemaOf,
  Type,
} from "./schema.ts";

const repeated = { countMin: 0, countMax: 100, doc: "May be repeated." };

export const deadLetterFilters = {
  webhookIds: list(id(), { ...repeated, api: "webhook_id" }),
  eventTypes: list(eventTypeField, { ...repeated, api: "event_type" }),
  categories: list(choice(failureCategories), { ...repeated, api: "failure_category" }),
  from: timeOrDate({ doc: "Only deliveries created at or after this time." }),
  to: timeOrDate({ doc: "Only deliveries created before this time." }),
  tenantId: tenantIdField,
} satisfies Fields;

/** Input for operations on many deliveries. */

const ids = list(id(), { countMax: 1_000, doc: "Ids of deliveries, instead of a filter." });
const dryRun = flag({ doc: "Only count the deliveries, and report which would be skipped." });

const { order: _, ...deliveryFilter } = deliveryListFields;

/** The filters of `GET /v1/deliveries`. */
const ofDeliveries = {
  ids,
  filter: object(deliveryFilter, {
    title: "DeliveryBulkFilter",
    doc: "As in `GET /v1/deliveries`; an empty filter matches everything. If `to` is omitted, it is the time of the call.",
  }),
  dryRun,
} satisfies Fields;

export const retryDeliveriesFields = {
  ...ofDeliveries,
  priority: nullable(choice(priorities, { doc: "New priority of the deliveries; unchanged if omitted." })),
  closeCircuits,
  requestsPerSecond,
} satisfies Fields;

export const cancelDeliveriesFields = {
  ...ofDeliveries,
  requestsPerSecond: endingsPerSecond,
} satisfies Fields;

export const discardFields = {
  ids,
  filter: object(deadLetterFilters, {
    title: "DeadLetterBulkFilter",
    doc: "As in `GET /v1/dlq`; an empty filter matches everything.",
  }),
  dryRun,
  requestsPerSecond: endingsPerSecond,
} satisfies Fields;

export const operationChangeFields = {
  status: choice(["running", "paused", "cancelled"], { doc: "`running` resumes a paused operation." }),
  requestsPerSecond: newRate,
} satisfies Fields;

const byFilter = [{ filter: { status: ["exhausted"], from: "2026-01-31T09:30:00Z" }, dry_run: true }];

export const retryDeliveriesSchema = schemaOf(retryDeliveriesFields, {
  title: "RetryDeliveriesInput",
  examples: byFilter,
});

export const cancelDeliveriesSchema = schemaOf(cancelDeliveriesFields, {
  title: "CancelDeliveriesInput",
  examples: [{ filter: { status: ["pending", "failed"] }, rate_limit: { requests_per_second: 100 } }],
});

export const discardSchema = schemaOf(discardFields, {
  title: "DiscardInput",
  examples: [{ filter: { failure_category: ["client_error"] }, dry_run: true }],
});

export const operationChangeSchema = schemaOf(operationChangeFields, {
  title: "OperationChange",
  examples: [{ rate_limit: { requests_per_second: 2 } }, { status: "paused" }],
});

const exclusionCountsSchema = Type.Unsafe<Record<string, number>>({
  type: "object",
  title: "ExclusionCounts",
  description:
    "How many are skipped, by reason. `in_flight`: their request is in flight; `payload_gone`: retention removed " +
    "the payload; `order`: they wait in an ordered lane; `accepted`: they succeeded, and " +
    "`status` does not include `success`; `already_retried`: this operation retried them before it was interrupted; `already_ended`: they are no " +
    "longer waiting; `not_a_dead_letter`; `webhook_deleted`; `not_found`.",
  properties: Object.fromEntries(exclusions.map((name) => [name, { type: "integer", minimum: 1 }])),
  additionalProperties: false,
});

const words = (values: readonly string[]) => Type.Optional(Type.Array(oneOf(values)));
const idsSchema = Type.Optional(Type.Array(idSchema("a delivery")));
const texts = Type.Optional(Type.Array(Type.String()));

/** Uses the filter names of the listings. */
const appliedFilterSchema = closed(
  {
    ids: idsSchema,
    tenant_id: Type.Optional(Type.String()),
    webhook_id: idsSchema,
    event_id: Type.Optional(idSchema("the event")),
    source_id: Type.Optional(idSchema("the source of the gateway")),
    event_type: texts,
    status: words(deliveryStatuses),
    failure_category: words(failureCategories),
    http_status: texts,
    waiting_for: words(waitingReasons),
    origin: words(deliveryOrigins),
    attempt_min: Type.Optional(Type.Integer()),
    error: Type.Optional(Type.String()),
    idempotency_key: Type.Optional(Type.String()),
    from: Type.Optional(instant("Created at or after this time.")),
    to: Type.Optional(instant("Created no later than this time.")),
  },
  {
    title: "AppliedFilter",
    description:
      "The selection, with all times converted to absolute times. `ids` contains the first ten of the given ids.",
  },
);

export const operationSchema = closed(
  {
    id: idSchema("the operation"),
    batch_operation_id: idSchema("the operation"),
    tenant_id: nullableSchema(Type.String()),
    kind: oneOf(operationKinds, {
      description:
        "`retry`, `cancel` and `discard` are the bulk actions of the same names; `dlq_retry` retries dead letters, `recover` retries deliveries that a webhook missed.",
    }),
    status: oneOf(operationStatuses, { description: "`pending`: about to run, or waiting for a process." }),
    filter: appliedFilterSchema,
    priority: nullableSchema(oneOf(priorities, { description: "Null keeps the priority of each delivery." })),
    requests_per_second: Type.Number("Maximum rate."),
    rate_per_second: nullableSchema(Type.Number("Measured rate; null while it is not running.")),
    total: Type.Integer("Number of deliveries counted at the start, up to a limit."),
    total_is_exact: Type.Boolean("False if counting stopped at the limit."),
    done: Type.Integer("Number of deliveries processed."),
    queued: Type.Integer("Deliveries that the operation has cancelled, discarded or requeued."),
    delivered: nullableSchema(
      Type.Integer("Queued deliveries that have been accepted. Null for other operations."),
    ),
    failed: Type.Integer("Queued deliveries that failed again, and deliveries that could not be processed."),
    waiting: nullableSchema(
      Type.Integer(
        "Queued deliveries that have not been sent yet, for example because of an open circuit, " +
          "or that are due for another attempt. Null for other operations.",
      ),
    ),
    skipped: exclusionCountsSchema,
    eta_at: instantOrNull("Estimated time of completion at this rate; null if unknown."),
    last_errors: Type.Array(
      closed(
        {
          delivery_id: nullableSchema(idSchema("the delivery")),
          message: Type.String(),
          at: instant("When it happened."),
        },
        { title: "OperationError" },
      ),
      { maxItems: 10, description: "Newest first." },
    ),
    starts_at: instantOrNull("`pending` until this time; null if it started immediately."),
    created_at: instant("When it was requested."),
    updated_at: instant("When the operation last made progress."),
    finished_at: instantOrNull("When it was completed or cancelled."),
  },
  { title: "BatchOperation" },
);

const operationAt = (title: string, path: string) =>
  defineResource({
    noun: "operation",
    title,
    path,
    tag: "Operations",
    key: idParam("the operation"),
    input: operationChangeFields,
    shown: {},
    schemas: { one: operationSchema, list: listOf(operationSchema, "BatchOperationList") },
  });
export const operationResource = operationAt("Operation", "/v1/operations");
/** The path that WDS-112 defines. */
export const batchOperationResource = operationAt("BatchOperation", "/v1/dlq/batch-operations");

const openCircuitSchema = closed(
  {
    webhook_id: idSchema("the webhook"),
    until: instantOrNull("When the next probe may be sent; null while probes are being sent."),
    count: Type.Integer({
      minimum: 0,
      description: "Deliveries of this selection that wait for the circuit.",
    }),
  },
  { title: "OpenCircuit" },
);

const startedProperties = {
  open_circuits: Type.Array(openCircuitSchema, {
    description:
      "Webhooks whose open circuit delays the retried deliveries. `close_circuits` closes them first.",
  }),
  batch_operation_id: nullableSchema(idSchema("the operation; null with `dry_run`")),
  count: Type.Integer({ minimum: 0 }),
  operation: nullableSchema(operationSchema),
};

export const operationStartedSchema = closed(startedProperties, { title: "BatchOperationStarted" });

export const bulkStartedSchema = closed(
  {
    ...startedProperties,
    count_is_exact: Type.Boolean("False if counting stopped at the limit and there are more."),
    samples: Type.Array(listedDeliverySchema, {
      maxItems: 5,
      description: "The oldest deliveries of the selection.",
    }),
    excluded: exclusionCountsSchema,
    filter: appliedFilterSchema,
    requests_per_second: Type.Number(),
    estimated_seconds: nullableSchema(Type.Number("Duration at this rate; null if the count is not exact.")),
  },
  { title: "BulkStarted" },
);

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
