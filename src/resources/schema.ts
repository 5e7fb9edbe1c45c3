import { type ErrorCode, errorTable } from "../domain/errors.ts";
import {
  apiName,
  type Field,
  type Fields,
  type Group,
  type Kind,
  listSentence,
  type ObjectKind,
  orNull as sentenceOrNull,
  sentenceOf,
  type ValueOf,
} from "./field.ts";
import { eventTypeField, pageLimitField, pageOffsetField, tenantIdField } from "./names.ts";

/**
 * JSON Schemas that have the TypeScript type of the values that they accept, so that a handler receives what its schema
 * promises. Hand-written, because we need only these nine functions: TypeBox would load 373 modules for them, which is
 * a fifth of the CPU time of each startup.
 */

declare const allowed: unique symbol;
const isOptional = Symbol("optional");

/** A JSON Schema, 2020-12. `T` is the type of valid values. */
export interface Schema<T = unknown> {
  readonly [allowed]?: T;
  readonly [keyword: string]: unknown;
}

/** Marks a property that may be absent. */
export interface Optional {
  readonly [isOptional]: true;
}

/** The type of valid values. */
export type Static<S extends Schema> = S extends Schema<infer T> ? T : never;

export type Properties = Readonly<Record<string, Schema>>;

type OptionalNames<P extends Properties> = {
  [Name in keyof P]: P[Name] extends Optional ? Name : never;
}[keyof P];

type ObjectSchema<P extends Properties> = Schema<
  { [Name in Exclude<keyof P, OptionalNames<P>>]: Static<P[Name]> } & {
    [Name in OptionalNames<P>]?: Static<P[Name]>;
  }
> & { readonly properties: P };

type Keywords = Readonly<Record<string, unknown>> | object;

/** Keywords, or only a description. */
type Described = Keywords | string;

function plain<T>(type: string) {
  return (described: Described = {}): Schema<T> => ({
    type,
    ...(typeof described === "string" ? { description: described } : described),
  });
}

export const Type = {
  String: plain<string>("string"),
  Integer: plain<number>("integer"),
  Number: plain<number>("number"),
  Boolean: plain<boolean>("boolean"),

  Literal: <const V extends string | number | boolean>(value: V, keywords: Keywords = {}): Schema<V> => ({
    type: typeof value,
    const: value,
    ...keywords,
  }),

  Array: <S extends Schema>(items: S, keywords: Keywords = {}): Schema<Static<S>[]> => ({
    type: "array",
    items,
    ...keywords,
  }),

  /** Properties are required unless they were created with `Optional`. */
  Object<P extends Properties>(properties: P, keywords: Keywords = {}): ObjectSchema<P> {
    const required = Object.keys(properties).filter((name) => !(isOptional in (properties[name] ?? {})));
    return { type: "object", ...(required.length > 0 && { required }), properties, ...keywords };
  },

  Optional: <S extends Schema>(schema: S): S & Optional => ({ ...schema, [isOptional]: true }),

  /** Any schema, with a type asserted by the caller. */
  Unsafe: <T>(schema: Keywords): Schema<T> => ({ ...schema }),
} as const;

// Builds JSON Schema for input and output from the field definitions of resources.

type JsonSchema = Readonly<Record<string, unknown>> & { readonly [says]?: string };

/** Describes valid values in error messages. Not a keyword, so documents do not contain it. */
const says = Symbol("sentence");

/** Returns the sentence that describes a field in errors of its schema; null for schemas without a sentence. */
export function sentenceIn(schema: object): string | null {
  return (schema as JsonSchema)[says] ?? null;
}

/** Determines which fields exist and which are required. */
type Use = "create" | "update";

/** A body or query that accepts only these fields. */
export function schemaOf(fields: Fields, options: JsonSchema & { readonly use?: Use } = {}): Schema {
  const { use = "create", ...more } = options;
  return Type.Unsafe<unknown>({ ...more, ...objectSchema(fields, use) });
}

/** Schema of a query parameter that is combined with hand-written ones. */
export function schemaOfField(field: Field): Schema {
  return Type.Unsafe<unknown>(fieldSchema(field, "create"));
}

/** Schema of output: all fields are required, and the bounds of input are omitted. */
export function shownSchemaOf<F extends Fields>(fields: F, options: JsonSchema = {}): ShownSchema<F> {
  return Type.Unsafe({ ...options, ...shownObject(fields) });
}

/** The type is exact for fields whose API name is the library name in snake_case. */
export type ShownSchema<F extends Fields> = Schema<{
  readonly [Name in keyof F & string as SnakeCase<Name>]: ValueOf<F[Name]>;
}>;

function objectSchema(fields: Fields, use: Use): JsonSchema {
  const entries = Object.entries(fields).filter(([, one]) => use === "create" || !one.isOnlyForCreation);
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const [key, one] of entries) {
    const { within } = one;
    const name = within?.api ?? apiName(key, one);
    properties[name] ??= within === null ? fieldSchema(one, use) : groupSchema(within, entries, use);
    const isNeeded = one.isRequired || (use === "create" && one.isRequiredToCreate);
    if (within === null && isNeeded) required.push(name);
  }
  return closedObject(properties, required);
}

function groupSchema(
  { api, title, doc, isComplete }: Group,
  entries: readonly (readonly [string, Field])[],
  use: Use,
): JsonSchema {
  const members = entries.filter(([, one]) => one.within?.api === api);
  const properties = Object.fromEntries(
    members.map(([key, one]) => [apiName(key, one), fieldSchema(one, use)]),
  );
  return {
    ...(title !== undefined && { title }),
    ...(doc !== undefined && { description: doc }),
    ...closedObject(properties, isComplete === true ? Object.keys(properties) : []),
  };
}

function closedObject(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): JsonSchema {
  return {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function fieldSchema(field: Field, use: Use): JsonSchema {
  const { kind, doc, examples } = field;
  const description = [doc, boundsInWords(kind)].filter((part) => part !== null).join(" ");
  return orNull(field, {
    ...kindSchema(kind, use),
    ...(field.default !== undefined && { default: field.default }),
    ...(description !== "" && { description }),
    ...(examples.length > 0 && { examples }),
    ...(field.isSecret && { writeOnly: true }),
    ...(field.openMembers.length > 0 && { "x-open-members": field.openMembers }),
  });
}

/** Describes bounds that JSON Schema cannot express. */
function boundsInWords(kind: Kind): string | null {
  switch (kind.is) {
    case "document":
    case "list":
      return kind.bytesMax === null ? null : `Up to ${kind.bytesMax} bytes as JSON.`;
    case "time":
      return kind.takesDates ? "RFC 3339 date-time, or a date (midnight UTC)." : null;
    default:
      return null;
  }
}

/** Allows null. Adding it to the schema's types and choices gives clearer messages than a union. */
function orNull({ isNullable }: Pick<Field, "isNullable">, schema: JsonSchema): JsonSchema {
  const { type, enum: choices } = schema;
  if (!isNullable || type === undefined) return schema;
  return {
    ...schema,
    ...(schema[says] !== undefined && { [says]: sentenceOrNull(schema[says]) }),
    type: Array.isArray(type) ? [...(type as unknown[]), "null"] : [type, "null"],
    ...(Array.isArray(choices) && { enum: [...(choices as unknown[]), null] }),
  };
}

function kindSchema(kind: Kind, use: Use): JsonSchema {
  if (kind.is === "object") return nestedSchema(kind, use);
  const sentence = kind.is === "time" ? timeSentence : sentenceOf(kind);
  return { ...shownKind(kind), ...boundsOf(kind, use), [says]: sentence };
}

const timeSentence = "must be an RFC 3339 time such as 2026-01-31T09:30:00.000Z";

/** The keywords that the schema of input has in addition to those of output. */
function boundsOf(kind: Kind, use: Use): JsonSchema {
  switch (kind.is) {
    case "text":
      return { minLength: kind.lengthMin, maxLength: kind.lengthMax, pattern: kind.pattern };
    case "number":
      return { minimum: kind.min, maximum: kind.max };
    case "list":
      return {
        items: {
          ...kindSchema(kind.item, use),
          ...(kind.itemExample !== undefined && { examples: [kind.itemExample] }),
        },
        minItems: kind.countMin,
        maxItems: kind.countMax,
        ...(kind.isSet && { uniqueItems: true }),
      };
    case "url":
      return { minLength: 1, maxLength: kind.lengthMax };
    case "headers":
      return {
        additionalProperties: { type: "string", maxLength: kind.valueLengthMax },
        maxProperties: kind.countMax,
      };
    case "time":
      return kind.takesDates ? { format: "instant", examples: ["2026-01-31", "2026-01-31T09:30:00Z"] } : {};
    default:
      return {};
  }
}

/**
 * A single schema covers the object and its shorthand. Keywords apply only to their type, so that messages name the
 * field.
 */
function nestedSchema({ title, fields, shorthand }: ObjectKind, use: Use): JsonSchema {
  const object = { ...(title !== null && { title }), ...objectSchema(fields, use) };
  const named = shorthand === null ? undefined : fields[shorthand]?.kind;
  if (named?.is !== "choice") return object;
  return {
    ...object,
    type: ["string", "object"],
    pattern: `^(${named.values.join("|")})$`,
    "x-rule": `one of ${named.values.join(", ")}, or an object with "${shorthand}"`,
  };
}

const instantSchema = { type: "string", format: "date-time", examples: ["2026-01-31T09:30:00.000Z"] };

function shownObject(fields: Fields): JsonSchema {
  const properties = shownProperties(fields);
  return closedObject(properties, Object.keys(properties));
}

/**
 * Properties of output that are combined with hand-written ones. Their TypeScript types are exact for fields whose API
 * name is the library name in snake_case.
 */
export function shownProperties<F extends Fields>(fields: F): ShownProperties<F> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, one]) => [
      apiName(key, one),
      orNull(one, { ...shownKind(one.kind), ...(one.doc !== null && { description: one.doc }) }),
    ]),
  ) as ShownProperties<F>;
}

type ShownProperties<F extends Fields> = {
  readonly [Name in keyof F & string as SnakeCase<Name>]: Schema<ValueOf<F[Name]>>;
};
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : "";

function shownKind(kind: Kind): JsonSchema {
  switch (kind.is) {
    case "text":
    case "url":
      return { type: "string" };
    case "number":
      return { type: kind.whole ? "integer" : "number" };
    case "choice":
      return { type: "string", enum: [...kind.values] };
    case "flag":
      return { type: "boolean" };
    case "id":
      return { type: "string", format: "uuid", examples: ["0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c"] };
    case "time":
      return instantSchema;
    case "list":
      return { type: "array", items: shownKind(kind.item) };
    case "object":
      return shownObject(kind.fields);
    case "headers":
      return { type: "object", additionalProperties: { type: "string" } };
    case "json":
      return { type: ["object", "array", "string", "number", "boolean"] };
    default:
      return { type: "object", additionalProperties: true };
  }
}

// Building blocks for schemas. A schema with a `title` becomes a named component of the OpenAPI document.

/** An object without additional members; used for all bodies and queries. */
export function closed<P extends Properties>(properties: P, options: object = {}): ObjectSchema<P> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** The schema with null allowed. Uses a list of types, which gives clearer messages than a union. */
export function nullableSchema<S extends Schema>(schema: S) {
  const { type, enum: choices } = schema;
  return Type.Unsafe<Static<S> | null>({
    ...schema,
    ...(type !== undefined && { type: [type, "null"] }),
    ...(Array.isArray(choices) && { enum: [...(choices as unknown[]), null] }),
  });
}

export function oneOf<const V extends readonly string[]>(values: V, options: object = {}) {
  return Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });
}

/** A list with bounds, which are described like those of a field. */
export function boundedList<S extends Schema>(
  items: S,
  countMin: number,
  countMax: number,
  description: string,
): Schema<Static<S>[]> {
  const bounds = { minItems: countMin, maxItems: countMax, description };
  return Object.assign(Type.Array(items, bounds), { [says]: listSentence(countMin, countMax) });
}

/**
 * Any JSON object. Type.Record cannot be used, because its pattern `.` would not check names that contain line breaks.
 */
export function freeObject(options: object = {}) {
  return Type.Unsafe<Record<string, unknown>>({ type: "object", additionalProperties: true, ...options });
}

export function anyValue(options: object = {}) {
  return Type.Unsafe<unknown>(options);
}

export const idSchema = (what: string) =>
  Type.String({
    format: "uuid",
    description: `Id of ${what}.`,
    examples: ["0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c"],
  });

export const instant = (description: string) =>
  Type.String({ format: "date-time", description, examples: ["2026-01-31T09:30:00.000Z"] });

export const instantOrNull = (description: string) => nullableSchema(instant(description));

export const textOrNull = (description: string) => nullableSchema(Type.String(description));

/** A path parameter that must be a UUID. */
export const idParam = (what: string) =>
  Type.String({
    pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    description: `Id of ${what}.`,
  });

/** One line of text without control characters. */
export const line = (lengthMax: number, options: object = {}) =>
  Type.String({
    maxLength: lengthMax,
    pattern: "^[^\\u0000-\\u001f\\u007f]*$",
    "x-rule": "text without control characters",
    ...options,
  });

export const tenantIdSchema = Type.Unsafe<string>(schemaOfField(tenantIdField));

export const eventTypeName = Type.Unsafe<string>(schemaOfField(eventTypeField));

export const pageProperties = {
  limit: Type.Optional(Type.Unsafe<number>(schemaOfField(pageLimitField))),
  cursor: Type.Optional(Type.String({ maxLength: 512, description: "`next_cursor` of the previous page." })),
  offset: Type.Optional(Type.Unsafe<number>(schemaOfField(pageOffsetField))),
};

/** The query of a listing with these filters. */
export function listingQuery(filters: Fields) {
  return closed({ ...pageProperties, ...(queryOf(filters) as Record<string, never>) });
}

export function listOf<S extends Schema>(item: S, title: string) {
  return closed(
    {
      data: Type.Array(item),
      next_cursor: nullableSchema(
        Type.String({ description: "Send it as `cursor` to get the next page; null on the last page." }),
      ),
    },
    { title },
  );
}

/** A page that may end before it is full. */
export function searchOf<S extends Schema>(item: S, title: string) {
  return closed(
    {
      ...listOf(item, title).properties,
      searched_to: nullableSchema(
        instant(
          "Only items created up to this time have been searched; null if all have been, or when sorted by next attempt.",
        ),
      ),
      complete: Type.Boolean({
        description:
          "False if the search used up its budget before the page was full, so more items may match. Continue with `next_cursor`.",
      }),
    },
    { title },
  );
}

/** Query parameters, all of which are optional. */
export function queryOf(fields: Fields): Record<string, Schema> {
  const parameters = Object.entries(fields).map(([name, field]) => [
    apiName(name, field),
    Type.Optional(schemaOfField(field)),
  ]);
  return Object.fromEntries(parameters) as Record<string, Schema>;
}

const fieldErrorSchema = closed(
  {
    field: Type.String({
      description: "Path of the field; empty for the whole body.",
      examples: ["retry_config.max_attempts"],
    }),
    message: Type.String({ description: "What is wrong. Never contains the value." }),
  },
  { title: "FieldError" },
);

/** RFC 9457 problem details. */
export const problemSchema = closed(
  {
    type: Type.String({ description: "Link to the documentation of the error, relative to this server." }),
    title: Type.String({ description: "The same for every error with this code." }),
    status: Type.Integer({ description: "The HTTP status." }),
    detail: Type.String({ description: "Describes this occurrence." }),
    code: oneOf(Object.keys(errorTable) as ErrorCode[], {
      description: "Stable; use it to distinguish errors.",
    }),
    errors: Type.Optional(Type.Array(fieldErrorSchema, { description: "Up to 50 invalid fields." })),
    event_id: Type.Optional(idSchema("the event that first used this key")),
  },
  {
    title: "Problem",
    examples: [
      {
        type: "/docs/errors#invalid_request",
        title: "The request is not valid",
        status: 400,
        detail: "The body is not valid.",
        code: "invalid_request",
        errors: [{ field: "event_type", message: "is required" }],
      },
    ],
  },
);
