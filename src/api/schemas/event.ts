import { Type } from "./type.ts";
import type { Static } from "./type.ts";
import { linksCountMax } from "../../core/event-input.ts";
import { deliveryStates, priorities } from "../../core/delivery.ts";
import type { Priority } from "../../core/delivery.ts";
import { eventListFields } from "../../core/fields/event-list.ts";
import { eventFields } from "../../core/fields/event.ts";
import { replayFields } from "../../core/fields/actions.ts";
import { batchEventsMax } from "../context.ts";
import {
  anyValue,
  closed,
  eventTypeName,
  freeObject,
  id,
  instant,
  listingQuery,
  listOf,
  nullable,
  oneOf,
  searchOf,
  tenantId,
} from "./building-blocks.ts";
import { schemaOf, schemaOfField } from "./field-schema.ts";
import { problemSchema } from "./problem.ts";
import { webhookStatuses } from "../../core/webhook.ts";

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
        "What happened. Its text is delivered exactly as it stands in the request: digits of numbers, escapes, order of " +
        "members and white space. No object may have a name twice. When the event type has a schema, the value must match. " +
        "Webhooks of profile `ts-16a` do not take an empty object: for them the event becomes a dead letter, `empty_data`.",
      examples: [{ order_id: "4711", total: 19.9 }],
    }),
    tenant_id: Type.Optional(tenantId),
    source: Type.Optional(sourceSchema),
    timestamp: Type.Optional(instant("When it happened; defaults to now.")),
    idempotency_key: Type.Optional(idempotencyKeySchema),
    priority: Type.Optional(prioritySchema),
    metadata: Type.Optional(
      freeObject({
        minProperties: 1,
        description: "About the resources in `data`. Kept and delivered as text too.",
      }),
    ),
    links: Type.Optional(
      Type.Array(linkSchema, { minItems: 1, maxItems: linksCountMax, description: "Related resources." }),
    ),
  },
  { title: "EventInput" },
);
export type EventInput = Static<typeof eventInputSchema>;

/** What an event has beside its body when the body is raw content. */
export const rawEventQuerySchema = closed({
  event_type: eventTypeName,
  tenant_id: Type.Optional(tenantId),
  source: Type.Optional(sourceSchema),
  timestamp: Type.Optional(instant("When it happened; defaults to now.")),
  idempotency_key: Type.Optional(idempotencyKeySchema),
  priority: Type.Optional(prioritySchema),
});
export type RawEventQuery = Static<typeof rawEventQuerySchema>;

export const eventBatchSchema = closed(
  {
    // Checked one by one by the handler, so that one bad event does not spoil the rest.
    events: Type.Array(anyValue({ description: "An EventInput." }), {
      minItems: 1,
      maxItems: batchEventsMax,
      description: "Each is an EventInput and is judged for itself.",
    }),
  },
  {
    title: "EventBatch",
    examples: [{ events: [{ event_type: "order.completed", data: { order_id: "4711" } }] }],
  },
);

const receiptProperties = {
  id: id("the event; also its `Webhook-ID`"),
  event_type: eventTypeName,
  tenant_id: tenantId,
  timestamp: instant("When it happened."),
  idempotency_key: Type.String({ description: "The key that was given, or the id." }),
  sequence_number: Type.Integer({ description: "Counts the events of the tenant." }),
  deliveries: Type.Integer({
    minimum: 0,
    description:
      "Deliveries in all: one for each webhook that subscribed. Those of webhooks that are not active are `skipped`.",
  }),
  deliveries_following: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        "Of the deliveries, how many are not listed yet: an event for more than 2,048 webhooks gets the others in the next moments. Absent where all are there.",
    }),
  ),
  duplicate: Type.Boolean({ description: "True when the key was used before: nothing new was published." }),
};

export const receiptSchema = closed(receiptProperties, { title: "EventReceipt" });

export const batchResultSchema = closed(
  {
    results: Type.Array(
      Type.Unsafe<unknown>({
        anyOf: [receiptSchema, closed({ error: problemSchema }, { title: "EventRefusal" })],
      }),
      { description: "In the order of the events." },
    ),
  },
  { title: "EventBatchResult" },
);

const eventProperties = {
  id: id("the event"),
  event_type: eventTypeName,
  tenant_id: tenantId,
  timestamp: instant("When it happened."),
  source: nullable(Type.String()),
  idempotency_key: Type.String({ description: "The key that was given, or the id." }),
  priority: oneOf(priorities),
  sequence_number: Type.Integer(),
  content_type: Type.String({
    description: "Media type of what was published.",
    examples: ["application/json"],
  }),
  deliveries: Type.Integer({ minimum: 0, description: "Deliveries made when it was published." }),
  created_at: instant("When it was accepted."),
  trace_id: nullable(
    Type.String({ description: "Of the trace that it was published in; null when its publisher sent none." }),
  ),
};

const eventSummarySchema = closed(eventProperties, { title: "EventSummary" });

export const eventSchema = closed(
  {
    ...eventProperties,
    raw: Type.Boolean({ description: "True when it was published as bytes of some media type." }),
    data: Type.Optional(
      anyValue({
        description: "The text that was published; null once retention removed it. Absent when `raw`.",
      }),
    ),
    body_base64: Type.Optional(
      nullable(
        Type.String({
          contentEncoding: "base64",
          description: "The published bytes; null once retention removed them. Only when `raw`.",
        }),
      ),
    ),
    metadata: anyValue({ description: "Null when none was given." }),
    links: anyValue({ description: "Null when none were given." }),
    payload_removed: Type.Boolean({ description: "True once retention removed the payload." }),
  },
  { title: "Event" },
);

export const eventSearchSchema = searchOf(eventSummarySchema, "EventSearch");

export const eventMatchesSchema = listOf(
  closed(
    {
      webhook_id: id("the webhook"),
      url: Type.String(),
      status: oneOf(webhookStatuses, { description: "Of the webhook, as it is now." }),
      sent: Type.Boolean({
        description: "A delivery was made for it; what became of that, the delivery says.",
      }),
      delivery_id: nullable(id("the newest delivery of the event for it")),
      delivery_status: nullable(oneOf(deliveryStates)),
      reason: nullable(
        oneOf(["other_type", "inactive", "made_later", "changed_later"], {
          description:
            "Why it was not sent: it asks for other types; it was not active when the event was published; it was made after that; it asks for the type now, and did not then.",
        }),
      ),
    },
    { title: "EventMatch" },
  ),
  "EventMatchList",
);

export const eventQuerySchema = listingQuery(eventListFields);

export const replayInputSchema = schemaOf(replayFields, { title: "ReplayInput" });
