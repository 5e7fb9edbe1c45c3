/**
 * JSON Schemas (2020-12) as TypeScript types, as far as the language can express them: objects, arrays, tuples,
 * enumerations, unions, references within the document. Bounds, patterns and conditions are omitted, so the type
 * accepts everything that the schema accepts, and more. A schema that says nothing about its shape becomes `unknown`.
 */
import { commentLines } from "./comment-lines.ts";

export type SchemaObject = Readonly<Record<string, unknown>>;

export interface TypeContext {
  /** The name of the type for a reference such as `#/$defs/address`; null if there is none. */
  nameOf(reference: string): string | null;
}

const indent = "  ";

/** The type that a schema describes; object members are on separate lines. */
export function typeOfSchema(schema: unknown, context: TypeContext): string {
  if (schema === false) return "never";
  if (!isSchemaObject(schema)) return "unknown";
  const parts = [own(schema, context), ...applied(schema, context)].filter((part) => part !== "unknown");
  return parts.length === 0 ? "unknown" : parts.map((part) => inside(part, parts.length > 1)).join(" & ");
}

/** `interface Name {…}` if possible, which editors display in a shorter form, otherwise `type Name = …`. */
export function declarationOf(name: string, schema: unknown, context: TypeContext): string {
  const text = typeOfSchema(schema, context);
  const isPlainObject = text.startsWith("{") && matchingEnd(text) === text.length - 1;
  const comment = isSchemaObject(schema) ? commentOf(schema, "") : "";
  return isPlainObject
    ? `${comment}export interface ${name} ${text}\n`
    : `${comment}export type ${name} = ${text};\n`;
}

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The type from the schema's own keywords. */
function own(schema: SchemaObject, context: TypeContext): string {
  const { $ref: reference, enum: choices, type } = schema;
  if (typeof reference === "string") return context.nameOf(reference) ?? "unknown";
  if ("const" in schema) return literal(schema["const"]);
  if (Array.isArray(choices)) return union(choices.map(literal));
  if (Array.isArray(type)) return union(type.map((one) => ofKind(one, schema, context)));
  return ofKind(type ?? impliedKind(schema), schema, context);
}

/** The types that other schemas add. */
function applied(schema: SchemaObject, context: TypeContext): readonly string[] {
  const each = (name: string): readonly string[] | null => {
    const list = schema[name];
    return Array.isArray(list) && list.length > 0 ? list.map((one) => typeOfSchema(one, context)) : null;
  };
  const [any, one] = [each("anyOf"), each("oneOf")];
  return [
    ...(each("allOf") ?? []),
    ...(any === null ? [] : [union(any)]),
    ...(one === null ? [] : [union(one)]),
  ];
}

/** Schemas often omit the type that their keywords imply. */
function impliedKind(schema: SchemaObject): unknown {
  if ("properties" in schema) return "object";
  return "items" in schema || "prefixItems" in schema ? "array" : undefined;
}

function ofKind(kind: unknown, schema: SchemaObject, context: TypeContext): string {
  switch (kind) {
    case "string":
    case "boolean":
    case "null":
    case "number":
      return kind;
    case "integer":
      return "number";
    case "array":
      return arrayType(schema, context);
    case "object":
      return objectType(schema, context);
    default:
      return "unknown";
  }
}

function arrayType(schema: SchemaObject, context: TypeContext): string {
  const { items, prefixItems: first, minItems } = schema;
  if (!Array.isArray(first)) return `${inside(typeOfSchema(items ?? true, context), true)}[]`;
  // Fewer items than listed are allowed unless `minItems` requires them.
  const required = typeof minItems === "number" ? minItems : 0;
  const head = first.map((one, index) => {
    const text = typeOfSchema(one, context);
    return index < required ? text : `${inside(text, true)}?`;
  });
  const rest = items === false ? [] : [`...${inside(typeOfSchema(items ?? true, context), true)}[]`];
  return `[${[...head, ...rest].join(", ")}]`;
}

function objectType(schema: SchemaObject, context: TypeContext): string {
  const { properties = {}, required, additionalProperties: others, patternProperties: patterns } = schema;
  const needed = new Set(Array.isArray(required) ? (required as unknown[]) : []);
  const members = Object.entries(isSchemaObject(properties) ? properties : {}).map(([name, member]) => {
    const comment = isSchemaObject(member) ? commentOf(member, indent) : "";
    const mark = needed.has(name) ? "" : "?";
    return `${comment}${indent}${propertyName(name)}${mark}: ${indented(typeOfSchema(member, context))};\n`;
  });
  // Named members must match an index signature, so it gets a specific type only if there are none.
  const isOpen = others !== false || isSchemaObject(patterns);
  const othersType =
    members.length > 0 || isSchemaObject(patterns) ? "unknown" : typeOfSchema(others ?? true, context);
  if (members.length === 0) return isOpen ? `Record<string, ${othersType}>` : "Record<string, never>";
  return `{\n${members.join("")}${isOpen ? `${indent}[name: string]: ${othersType};\n` : ""}}`;
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (!isSchemaObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${propertyName(name)}: ${literal(member)}`);
  return members.length === 0 ? "Record<string, never>" : `{ ${members.join("; ")} }`;
}

function union(texts: readonly string[]): string {
  const different = [...new Set(texts)];
  if (different.includes("unknown")) return "unknown";
  return different.map((text) => (text.includes(" & ") ? `(${text})` : text)).join(" | ");
}

/** In parentheses if it is next to an operator. */
function inside(text: string, isBesideOperator: boolean): string {
  const isSimple =
    /^[\w$<>, ".]*$/.test(text) || (text.startsWith("{") && matchingEnd(text) === text.length - 1);
  return isBesideOperator && !isSimple && !text.endsWith("[]") ? `(${text})` : text;
}

/** The index of the bracket that closes the first one. Quoted texts may contain brackets. */
function matchingEnd(text: string): number {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|\/\*[^]*?\*\/|[{}]/g)) {
    if (token === "{") depth += 1;
    if (token === "}") depth -= 1;
    if (depth === 0) return index;
  }
  return -1;
}

function indented(text: string): string {
  return text.replaceAll("\n", `\n${indent}`);
}

function commentOf(schema: SchemaObject, margin: string): string {
  const { description, deprecated } = schema;
  return commentLines(
    [
      ...(typeof description === "string" ? [description] : []),
      ...(deprecated === true ? ["@deprecated"] : []),
    ],
    margin,
  );
}
