import type { PayloadFormatName } from "../../core/profile.ts";
import { priorities } from "../../core/delivery.ts";
import type { JsonObject } from "../openapi.ts";

export const schemaPointer = "#/components/schemas/";

/** A named schema of a document. */
export type NamedSchema = readonly [name: string, schema: unknown];

export interface BodyParts {
  /** The class name for generators. */
  readonly title: string;
  readonly eventType: string;
  /** Schema of the event's data. */
  readonly data: JsonObject;
}

/** JSON Schema of the body that core/payload-formats/ renders for an event. */
export function bodySchema(format: PayloadFormatName, parts: BodyParts): JsonObject {
  return schemas[format](parts);
}

const dateTime = { type: "string", format: "date-time" };
const text = { type: "string" };
/** Explicit, because generators treat an object schema without members as empty. */
export const openObject = { type: "object", additionalProperties: true };

// One shared schema, so that generators create a single class. Schemas of event types have a hyphen in their names.
const linkSchema = {
  title: "Link",
  type: "object",
  properties: { rel: text, method: text, href: text },
};
const linkName = "link";
const links = {
  type: "array",
  description: "Related resources.",
  items: { $ref: schemaPointer + linkName },
};

const prioritySchema = { title: "Priority", type: "string", enum: [...priorities] };
const priorityName = "priority";

/** Schemas that bodies of these formats refer to, apart from the data. */
export function sharedSchemas(formats: readonly PayloadFormatName[]): readonly NamedSchema[] {
  const haveLinks = formats.some((format) => format === "standard" || format === "standard-thin");
  return [
    ...(haveLinks ? [[linkName, linkSchema] as const] : []),
    ...(formats.includes("x-webhook") ? [[priorityName, prioritySchema] as const] : []),
  ];
}

const schemas: Readonly<Record<PayloadFormatName, (parts: BodyParts) => JsonObject>> = {
  standard: ({ title, eventType, data }) => ({
    title,
    type: "object",
    required: ["type", "timestamp", "data"],
    properties: {
      type: { const: eventType, description: "Type of the event." },
      timestamp: { ...dateTime, description: "When it happened." },
      data,
      metadata: { ...openObject, description: "About the resources in `data`." },
      links,
    },
  }),
  "standard-thin": ({ title, eventType }) => ({
    title,
    type: "object",
    required: ["type", "timestamp", "data"],
    properties: {
      type: { const: eventType, description: "Type of the event." },
      timestamp: { ...dateTime, description: "When it happened." },
      data: {
        ...openObject,
        minProperties: 1,
        description: "The identifiers of the published object, or else `event_id`.",
      },
      links,
    },
  }),
  data: ({ data }) => data,
  "x-webhook": ({ title, eventType, data }) => ({
    title,
    type: "object",
    required: [
      "id",
      "event_type",
      "data",
      "timestamp",
      "idempotency_key",
      "source",
      "priority",
      "sequence_number",
    ],
    properties: {
      id: { ...text, description: "Id of the event." },
      event_type: { const: eventType },
      data,
      timestamp: { ...dateTime, description: "When it happened." },
      idempotency_key: { ...text, description: "The publisher's key, or the event's id." },
      source: { type: ["string", "null"], description: "The application that published it." },
      priority: { $ref: schemaPointer + priorityName },
      sequence_number: { type: "integer", description: "Position among the events of the sender." },
    },
  }),
  "cloudevents-structured": ({ title, eventType, data }) => ({
    title,
    type: "object",
    required: ["specversion", "id", "source", "type", "time", "datacontenttype", "data"],
    properties: {
      specversion: { const: "1.0" },
      id: { ...text, minLength: 1, description: "Id of the event." },
      source: { ...text, format: "uri-reference", description: "The application that published it." },
      type: { const: eventType },
      time: { ...dateTime, description: "When it happened." },
      datacontenttype: { ...text, description: "Media type of `data`." },
      data,
    },
  }),
  "cloudevents-binary": ({ data }) => data,
};
