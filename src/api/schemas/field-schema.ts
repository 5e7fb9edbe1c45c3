/** Builds JSON Schema for input and output from the field definitions in core/fields. */
import { Type } from "./type.ts";
import type { Schema } from "./type.ts";
import { apiName } from "../../core/fields/field.ts";
import type {
  Field,
  Fields,
  Kind,
  ListKind,
  NumberKind,
  ObjectKind,
  TextKind,
} from "../../core/fields/field.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/** Determines which fields exist and which are required. */
export type Use = "create" | "update";

/** A body or query that accepts only these fields. */
export function schemaOf(fields: Fields, options: JsonSchema & { readonly use?: Use } = {}): Schema {
  const { use = "create", ...more } = options;
  return Type.Unsafe<unknown>({ ...more, ...objectSchema(fields, use) });
}

/** Query parameters, next to hand-written ones. */
export function schemaOfField(field: Field): Schema {
  return Type.Unsafe<unknown>(fieldSchema(field, "create"));
}

/** Schema of output: all fields are required, and the bounds of input are omitted. */
export function shownSchemaOf(fields: Fields, options: JsonSchema = {}): Schema {
  return Type.Unsafe<unknown>({ ...options, ...shownObject(fields) });
}

/** A field, or the group that contains it. */
interface Slot {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

function objectSchema(fields: Fields, use: Use): JsonSchema {
  const entries = Object.entries(fields).filter(([, one]) => use === "create" || !one.isOnlyForCreation);
  const isNeeded = (one: Field) => one.isRequired || (use === "create" && one.isRequiredToCreate);
  const slots = new Map<string, Slot>();
  for (const [key, one] of entries) {
    const name = one.within?.api ?? apiName(key, one);
    if (slots.has(name)) continue;
    const schema = one.within === null ? fieldSchema(one, use) : groupSchema(entries, one.within.api, use);
    slots.set(name, { name, schema, isRequired: one.within === null && isNeeded(one) });
  }
  return closedObject([...slots.values()]);
}

function groupSchema(entries: readonly (readonly [string, Field])[], name: string, use: Use): JsonSchema {
  const members = entries.filter(([, one]) => one.within?.api === name);
  const group = members[0]?.[1].within;
  const slots = members.map(([key, one]) => ({
    name: apiName(key, one),
    schema: fieldSchema(one, use),
    isRequired: group?.isComplete === true,
  }));
  return {
    ...(group?.title !== undefined && { title: group.title }),
    ...(group?.doc !== undefined && { description: group.doc }),
    ...closedObject(slots),
  };
}

function closedObject(slots: readonly Slot[]): JsonSchema {
  const required = slots.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(slots.map(({ name, schema }) => [name, schema])),
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
      return kind.takesDates ? "RFC 3339 date-time, or a date, which means its start in UTC." : null;
    default:
      return null;
  }
}

/** Adding null to the types and choices of the schema gives clearer messages than a union. */
function orNull({ isNullable }: Pick<Field, "isNullable">, schema: JsonSchema): JsonSchema {
  const { type, enum: choices } = schema;
  if (!isNullable || type === undefined) return schema;
  return {
    ...schema,
    type: Array.isArray(type) ? [...(type as unknown[]), "null"] : [type, "null"],
    ...(Array.isArray(choices) && { enum: [...(choices as unknown[]), null] }),
  };
}

function kindSchema(kind: Kind, use: Use): JsonSchema {
  switch (kind.is) {
    case "text":
      return textSchema(kind);
    case "number":
      return numberSchema(kind);
    case "list":
      return listSchema(kind, use);
    case "object":
      return nestedSchema(kind, use);
    case "url":
      return { type: "string", minLength: 1, maxLength: kind.lengthMax };
    case "headers":
      return {
        type: "object",
        additionalProperties: { type: "string", maxLength: kind.valueLengthMax },
        maxProperties: kind.countMax,
      };
    case "time":
      return kind.takesDates ? instantOrDateSchema : instantSchema;
    default:
      return shownKind(kind);
  }
}

function textSchema({ lengthMin, lengthMax, pattern, rule }: TextKind): JsonSchema {
  return { type: "string", minLength: lengthMin, maxLength: lengthMax, pattern, "x-rule": rule };
}

function numberSchema({ min, max, whole }: NumberKind): JsonSchema {
  return { type: whole ? "integer" : "number", minimum: min, maximum: max };
}

function listSchema({ item, itemExample, countMin, countMax, isSet }: ListKind, use: Use): JsonSchema {
  return {
    type: "array",
    items: { ...kindSchema(item, use), ...(itemExample !== undefined && { examples: [itemExample] }) },
    minItems: countMin,
    maxItems: countMax,
    ...(isSet && { uniqueItems: true }),
  };
}

/** One schema for the object and its shorthand; keywords apply by type, so that messages name the field. */
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
const instantOrDateSchema = {
  type: "string",
  format: "instant",
  examples: ["2026-01-31", "2026-01-31T09:30:00Z"],
};

function shownObject(fields: Fields): JsonSchema {
  return closedObject(
    Object.entries(fields).map(([key, one]) => ({
      name: apiName(key, one),
      schema: orNull(one, { ...shownKind(one.kind), ...(one.doc !== null && { description: one.doc }) }),
      isRequired: true,
    })),
  );
}

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
