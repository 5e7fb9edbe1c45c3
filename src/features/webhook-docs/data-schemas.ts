import { priorities } from "../../domain/delivery.ts";
import type { PayloadFormatName } from "../../domain/profile.ts";
import {
  definitionKeywords,
  definitionsOf,
  referenceKey,
  type UniqueNames,
  untaken,
} from "../../domain/type-text.ts";
import type { JsonObject } from "../../http/openapi.ts";
import type { EventType } from "../../ports/store/registry.ts";

export const schemaPointer = "#/components/schemas/";

/** A named schema of a document. */
export type NamedSchema = readonly [name: string, schema: unknown];

interface BodyParts {
  /** The class name for generators. */
  readonly title: string;
  readonly eventType: string;
  /** Schema of the event's data. */
  readonly data: JsonObject;
}

/** JSON Schema of the body that domain/payload-formats.ts renders for an event. */
export function bodySchema(format: PayloadFormatName, parts: BodyParts): JsonObject {
  return schemas[format](parts);
}

const dateTime = { type: "string", format: "date-time" };
const text = { type: "string" };
/** Explicit, because generators treat an object schema without members as empty. */
const openObject = { type: "object", additionalProperties: true };

// One shared schema, so that generators create a single class. Its name cannot conflict with schemas of event types,
// whose names contain a hyphen.
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

/** Schemas that bodies of these formats reference, apart from the schema of the data. */
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
      metadata: { ...openObject, description: "Additional information about the resources in `data`." },
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
        description: "The identifiers of the published object, or `event_id` if it has none.",
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

/** Maps a local reference to its place in the document. */
type PointerTo = (reference: string) => string;

/**
 * Embeds a tenant's JSON Schema as a component of a larger document. `pointerTo` maps its internal references to their
 * new places. Names of properties and values such as `const` are never changed. The registry has already refused
 * everything else that depends on the location of a schema: anchors, nested `$id`s and external references
 * (schema/ajv/schema-limits.ts).
 */
export function embedSchema(schema: unknown, pointerTo: PointerTo): unknown {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  // A component has no `$id`, and uses the dialect of the document.
  const { $id: _id, $schema: _dialect, ...rest } = schema as Readonly<Record<string, unknown>>;
  return embed(rest, pointerTo);
}

function embed(schema: unknown, pointerTo: PointerTo): unknown {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, embedKeyword(keyword, value, pointerTo)]),
  );
}

function embedKeyword(keyword: string, value: unknown, pointerTo: PointerTo): unknown {
  if (keyword === "$ref" && typeof value === "string")
    return value.startsWith("#") ? pointerTo(value) : value;
  if (ofSchema.has(keyword)) return embed(value, pointerTo);
  if (ofList.has(keyword) && Array.isArray(value)) return value.map((inner) => embed(inner, pointerTo));
  if (ofMap.has(keyword) && typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, embed(inner, pointerTo)]));
  }
  return value;
}

const ofSchema: ReadonlySet<string> = new Set([
  "items",
  "contains",
  "additionalProperties",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
  "unevaluatedItems",
  "unevaluatedProperties",
  "contentSchema",
]);
const ofList: ReadonlySet<string> = new Set(["prefixItems", "allOf", "anyOf", "oneOf"]);
const ofMap: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);

/** Schemas of an event type's data: one called `name` for the data, and one for each definition in its schema. */
interface DataSchemas {
  readonly name: string;
  readonly schemas: readonly NamedSchema[];
}

/**
 * Definitions become separate components, because generators mistake `$defs` within a component for a property or drop
 * it. Each definition gets a title, which generators use as a class name, unless the author set one.
 */
export function dataSchemas(eventType: EventType, titles: UniqueNames): DataSchemas {
  const name = `${eventType.name}-content`;
  const title = titles.of(eventType.name);
  const parts = definitionsOf(eventType.schema);
  const places = new Map(componentNames(parts).map((own, at) => [parts[at]?.key, `${name}-${own}`]));
  const pointerTo = pointersTo(name, places);
  return {
    name,
    schemas: [
      [name, described(eventType, title, pointerTo)],
      ...parts.map((part): NamedSchema => {
        const schema = asObject(embedSchema(part.definition, pointerTo));
        return [places.get(part.key) ?? "", { title: titles.of(`${title} ${part.name}`), ...schema }];
      }),
    ],
  };
}

/** Unique component names. */
function componentNames(parts: readonly { readonly name: string }[]): readonly string[] {
  const taken = new Set<string>();
  return parts.map(({ name }) => untaken(name.replaceAll(/[^\w.-]/g, "_"), taken, "_"));
}

/** Maps a reference to a definition, to a location inside a definition, or to a location in the surrounding schema. */
function pointersTo(dataName: string, places: ReadonlyMap<string | undefined, string>): PointerTo {
  return (reference) => {
    const [root = "", keyword = "", definition = "", ...inside] = reference.split("/");
    const place = places.get(referenceKey([root, keyword, definition].join("/")));
    if (place === undefined) return schemaPointer + dataName + reference.slice(1);
    return [schemaPointer + place, ...inside].join("/");
  };
}

/**
 * The schema of an event type's data. Without a registered schema, only the publishing rule applies: `data` is a
 * non-empty object.
 */
function described(
  { schema, description, deprecated }: EventType,
  title: string,
  pointerTo: PointerTo,
): object {
  const own =
    schema === null ? { ...openObject, minProperties: 1 } : asObject(embedSchema(schema, pointerTo));
  const { [definitionKeywords[0]]: _new, [definitionKeywords[1]]: _old, ...rest } = own;
  return {
    title,
    ...(description !== "" && { description }),
    ...(deprecated && { deprecated }),
    ...rest,
  };
}

function asObject(schema: unknown): Readonly<Record<string, unknown>> {
  if (typeof schema === "object") return schema as Readonly<Record<string, unknown>>;
  return schema === true ? {} : { not: {} };
}
