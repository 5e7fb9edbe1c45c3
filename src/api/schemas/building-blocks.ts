/** Building blocks for schemas. A schema with a `title` becomes a named component of the OpenAPI document. */
import { apiName } from "../../core/fields/field.ts";
import type { Fields } from "../../core/fields/field.ts";
import { Type } from "./type.ts";
import type { Static, ObjectSchema, Properties, Schema } from "./type.ts";
import { eventTypeField, tenantIdField } from "../../core/fields/names.ts";
import { pageLimitField } from "../../core/fields/page.ts";
import { schemaOfField } from "./field-schema.ts";
import { pageOffsetMax } from "../paging.ts";

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

/** Any JSON object. Type.Record does not work: its pattern `.` would not check names with line breaks. */
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
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: pageOffsetMax,
      default: 0,
      description: "Rows to skip; a cursor is faster.",
    }),
  ),
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

/** Query parameters; all are optional. */
export function queryOf(fields: Fields): Record<string, Schema> {
  const parameters = Object.entries(fields).map(([name, field]) => [
    apiName(name, field),
    Type.Optional(schemaOfField(field)),
  ]);
  return Object.fromEntries(parameters) as Record<string, Schema>;
}

export const fieldErrorSchema = closed(
  {
    field: Type.String({
      description: "Path of the field; empty for the whole body.",
      examples: ["retry_config.max_attempts"],
    }),
    message: Type.String({ description: "What is wrong. Never contains the value." }),
  },
  { title: "FieldError" },
);
