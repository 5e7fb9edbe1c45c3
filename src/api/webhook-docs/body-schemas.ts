import type { PayloadFormatName } from "../../core/profile.ts";
import { priorities } from "../../core/delivery.ts";
import type { JsonObject } from "../openapi.ts";

export interface BodyParts {
  readonly eventType: string;
  /** Schema of the event's data. */
  readonly data: JsonObject;
}

/** JSON Schema of a body: what core/payload-formats/ renders of an event with data. */
export function bodySchema(format: PayloadFormatName, parts: BodyParts): JsonObject {
  return schemas[format](parts);
}

const dateTime = { type: "string", format: "date-time" };
const text = { type: "string" };

const links = {
  type: "array",
  description: "Related resources.",
  items: { type: "object", properties: { rel: text, method: text, href: text } },
};

const schemas: Readonly<Record<PayloadFormatName, (parts: BodyParts) => JsonObject>> = {
  standard: ({ eventType, data }) => ({
    type: "object",
    required: ["type", "timestamp", "data"],
    properties: {
      type: { const: eventType, description: "Type of the event." },
      timestamp: { ...dateTime, description: "When it happened." },
      data,
      metadata: { type: "object", description: "About the resources in `data`." },
      links,
    },
  }),
  "standard-thin": ({ eventType }) => ({
    type: "object",
    required: ["type", "timestamp", "data"],
    properties: {
      type: { const: eventType, description: "Type of the event." },
      timestamp: { ...dateTime, description: "When it happened." },
      data: {
        type: "object",
        minProperties: 1,
        description: "The identifiers of what was published, or else `event_id`.",
      },
      links,
    },
  }),
  data: ({ data }) => data,
  "x-webhook": ({ eventType, data }) => ({
    type: "object",
    required: [
      ...["id", "event_type", "data", "timestamp", "idempotency_key", "source", "priority"],
      "sequence_number",
    ],
    properties: {
      id: { ...text, description: "Id of the event." },
      event_type: { const: eventType },
      data,
      timestamp: { ...dateTime, description: "When it happened." },
      idempotency_key: { ...text, description: "The publisher's key, or the event's id." },
      source: { type: ["string", "null"], description: "Which application published it." },
      priority: { enum: [...priorities] },
      sequence_number: { type: "integer", description: "Counts the events of the sender." },
    },
  }),
  "cloudevents-structured": ({ eventType, data }) => ({
    type: "object",
    required: ["specversion", "id", "source", "type", "time", "datacontenttype", "data"],
    properties: {
      specversion: { const: "1.0" },
      id: { ...text, minLength: 1, description: "Id of the event." },
      source: { ...text, format: "uri-reference", description: "Which application published it." },
      type: { const: eventType },
      time: { ...dateTime, description: "When it happened." },
      datacontenttype: { ...text, description: "Media type of `data`." },
      data,
    },
  }),
  "cloudevents-binary": ({ data }) => data,
};
