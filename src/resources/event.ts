import { deliveryStates, priorities, type Priority } from "../domain/delivery.ts";
import { webhookStatuses } from "../domain/webhook.ts";
import { replayFields } from "./actions.ts";
import { eventFields, linksCountMax } from "./event-input.ts";
import { type Field, type Fields, flag, line, timeOrDate } from "./field.ts";
import { eventPatternsField, tenantIdField } from "./names.ts";
import type { OptionTable } from "./resource.ts";
import {
  anyValue,
  boundedList,
  closed,
  eventTypeName,
  freeObject,
  idSchema,
  instant,
  listingQuery,
  listOf,
  nullableSchema,
  oneOf,
  problemSchema,
  schemaOf,
  schemaOfField,
  searchOf,
  type Static,
  tenantIdSchema,
  textOrNull,
  Type,
} from "./schema.ts";

/** Filters of event lists. */

const idempotencyKey: Field<string> = Object.assign({}, eventFields.idempotencyKey, {
  doc: "Only the event published with this key, while its history is kept; if there are several, the newest.",
});
const source: Field<string> = Object.assign({}, eventFields.source, {
  doc: "Only events of this application.",
});

/** Maximum number of events in one batch. */
const batchEventsMax = 1_000;

export const eventListFields = {
  eventTypes: eventPatternsField,
  source,
  idempotencyKey,
  unmatched: flag({ doc: "True for events that no webhook subscribes to, false for all others." }),
  dataContains: line({
    lengthMin: 1,
    lengthMax: 200,
    doc: "Case-sensitive substring of the payload. Requires a key with the `manage` role.",
  }),
  tenantId: tenantIdField,
  from: timeOrDate({ doc: "Only events accepted at or after this time." }),
  to: timeOrDate({ doc: "Only events accepted before this time." }),
} satisfies Fields;

const prioritySchema = Type.Unsafe<Priority>(schemaOfField(eventFields.priority));
const idempotencyKeySchema = Type.Unsafe<string>(schemaOfField(eventFields.idempotencyKey));
const sourceSchema = Type.Unsafe<string>(schemaOfField(eventFields.source));

const linkSchema = closed(
  {
    rel: Type.Optional(Type.String()),
    method: Type.Optional(Type.String()),
    href: Type.Optional(Type.String()),
  },
  { title: "EventLink" },
);

export const eventInputSchema = closed(
  {
    event_type: eventTypeName,
    data: freeObject({
      description:
        "The payload. It is delivered exactly as written in the request, including the digits of numbers, escapes, the order of " +
        "fields and white space. Objects must not contain duplicate names. If the event type has a schema, the value must match. " +
        "Webhooks with the profile `ts-16a` do not accept an empty object: the delivery becomes a dead letter with the reason `empty_data`.",
      examples: [{ order_id: "4711", total: 19.9 }],
    }),
    tenant_id: Type.Optional(tenantIdSchema),
    source: Type.Optional(sourceSchema),
    timestamp: Type.Optional(instant("When it happened; defaults to now.")),
    idempotency_key: Type.Optional(idempotencyKeySchema),
    priority: Type.Optional(prioritySchema),
    metadata: Type.Optional(
      freeObject({
        minProperties: 1,
        description:
          "Additional information about the resources in `data`. It is also stored and delivered exactly as written.",
      }),
    ),
    links: Type.Optional(boundedList(linkSchema, 1, linksCountMax, "Related resources.")),
  },
  { title: "EventInput" },
);
export type EventInput = Static<typeof eventInputSchema>;

/** Fields of an event whose body is raw content. */
export const rawEventQuerySchema = closed({
  event_type: eventTypeName,
  tenant_id: Type.Optional(tenantIdSchema),
  source: Type.Optional(sourceSchema),
  timestamp: Type.Optional(instant("When it happened; defaults to now.")),
  idempotency_key: Type.Optional(idempotencyKeySchema),
  priority: Type.Optional(prioritySchema),
});
export type RawEventQuery = Static<typeof rawEventQuerySchema>;

export const eventBatchSchema = closed(
  {
    // The handler validates each event, so that one invalid event does not affect the others.
    events: boundedList(
      anyValue({ description: "An EventInput object." }),
      1,
      batchEventsMax,
      "Each is an EventInput and is validated independently.",
    ),
  },
  {
    title: "EventBatch",
    examples: [{ events: [{ event_type: "order.completed", data: { order_id: "4711" } }] }],
  },
);

const receiptProperties = {
  id: idSchema("the event; also its `Webhook-ID`"),
  event_type: eventTypeName,
  tenant_id: tenantIdSchema,
  timestamp: instant("When it happened."),
  idempotency_key: Type.String("The idempotency key of the event, or its id if none was given."),
  sequence_number: Type.Integer("Position among the events of the tenant."),
  deliveries: Type.Integer({
    minimum: 0,
    description:
      "Total number of deliveries: one per subscribed webhook. Those of inactive webhooks are `skipped`.",
  }),
  deliveries_following: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        "Number of deliveries not yet listed: for an event with more than 2,048 webhooks, the rest follow shortly afterwards. Absent if all are listed.",
    }),
  ),
  duplicate: Type.Boolean("True if the key was used before: nothing new was published."),
};

export const receiptSchema = closed(receiptProperties, { title: "EventReceipt" });

export const batchResultSchema = closed(
  {
    results: Type.Array(
      Type.Unsafe<unknown>({
        anyOf: [receiptSchema, closed({ error: problemSchema }, { title: "EventRefusal" })],
      }),
      { description: "In the same order as the events." },
    ),
  },
  { title: "EventBatchResult" },
);

const eventProperties = {
  id: idSchema("the event"),
  event_type: eventTypeName,
  tenant_id: tenantIdSchema,
  timestamp: instant("When it happened."),
  source: nullableSchema(Type.String()),
  idempotency_key: Type.String("The idempotency key of the event, or its id if none was given."),
  priority: oneOf(priorities),
  sequence_number: Type.Integer(),
  content_type: Type.String({
    description: "Media type of the payload.",
    examples: ["application/json"],
  }),
  deliveries: Type.Integer({ minimum: 0, description: "Number of deliveries created by publishing it." }),
  created_at: instant("When it was accepted."),
  trace_id: textOrNull("The trace in which it was published; null if the publisher did not send one."),
};

export const eventSummarySchema = closed(eventProperties, { title: "EventSummary" });

export const eventSchema = closed(
  {
    ...eventProperties,
    raw: Type.Boolean("True if it was published as raw bytes."),
    data: Type.Optional(
      anyValue({
        description: "The published text; null once retention has removed it. Absent if `raw`.",
      }),
    ),
    body_base64: Type.Optional(
      nullableSchema(
        Type.String({
          contentEncoding: "base64",
          description: "The published bytes; null once retention has removed them. Only if `raw`.",
        }),
      ),
    ),
    metadata: anyValue({ description: "Null if not given." }),
    links: anyValue({ description: "Null if not given." }),
    payload_removed: Type.Boolean("True once retention has removed the payload."),
  },
  { title: "Event" },
);

export const eventSearchSchema = searchOf(eventSummarySchema, "EventList");

export const eventMatchSchema = closed(
  {
    webhook_id: idSchema("the webhook"),
    url: Type.String(),
    status: oneOf(webhookStatuses, { description: "Current status of the webhook." }),
    sent: Type.Boolean("Whether a delivery was created for it; see the delivery for its outcome."),
    delivery_id: nullableSchema(idSchema("the latest delivery of the event to it")),
    delivery_status: nullableSchema(oneOf(deliveryStates)),
    reason: nullableSchema(
      oneOf(["other_type", "inactive", "made_later", "changed_later"], {
        description:
          "Why it was not sent: the webhook does not subscribe to the type; it was not active when the event was published; it was created later; it subscribed to the type later.",
      }),
    ),
  },
  { title: "EventMatch" },
);
export const eventMatchesSchema = listOf(eventMatchSchema, "EventMatchList");

export const eventListOptions: OptionTable<typeof eventListFields> = {
  eventTypes: "--type <type>",
  source: "--source <source>",
  idempotencyKey: "--idempotency-key <key>",
  unmatched: "--unmatched <yes>",
  dataContains: "--data-contains <text>",
};

export const eventQuerySchema = listingQuery(eventListFields);

export const replayInputSchema = schemaOf(replayFields, { title: "ReplayInput" });
