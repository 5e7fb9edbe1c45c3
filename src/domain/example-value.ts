/** An example value for a JSON Schema. It shows readers what an event of a type looks like. */
import { isSchemaObject, type SchemaObject } from "./type-text.ts";

const depthMax = 12;

/**
 * The schema's example, default or constant, or else the simplest value of its type. Respects simple bounds and
 * formats. It ignores patterns and conditions, so the schema may refuse the value.
 */
export function exampleValue(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isSchemaObject(schema) || depth > depthMax) return null;
  const { examples, enum: choices, $ref: reference } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0] as unknown;
  if ("const" in schema) return schema["const"];
  if ("default" in schema) return schema["default"];
  if (Array.isArray(choices) && choices.length > 0) return choices[0] as unknown;
  if (typeof reference === "string") return exampleValue(resolve(reference, root), root, depth + 1);
  const whole = merged(schema, root);
  const { type } = whole;
  const kind: unknown = Array.isArray(type) ? (type as unknown[]).find((one) => one !== "null") : type;
  return ofKind(kind, whole, root, depth + 1);
}

/** The schema merged with all schemas of `allOf` and with the first one of `anyOf` and of `oneOf`. */
function merged(schema: SchemaObject, root: unknown): SchemaObject {
  const parts = [
    ...asList(schema["allOf"]),
    ...["anyOf", "oneOf"].flatMap((name) => asList(schema[name]).slice(0, 1)),
  ];
  const whole: Record<string, unknown> = { ...schema };
  const properties = { ...asObject(schema["properties"]) };
  const required = [...asList(schema["required"])];
  for (const part of parts) {
    const { $ref: reference } = asObject(part);
    const added = asObject(typeof reference === "string" ? resolve(reference, root) : part);
    Object.assign(whole, added);
    Object.assign(properties, added["properties"]);
    required.push(...asList(added["required"]));
  }
  return { ...whole, ...(Object.keys(properties).length > 0 && { properties }), required };
}

function ofKind(kind: unknown, schema: SchemaObject, root: unknown, depth: number): unknown {
  if (kind === "string") return textOf(schema);
  if (kind === "integer" || kind === "number") return numberOf(schema);
  if (kind === "boolean") return true;
  if (kind === "array") {
    const first = asList(schema["prefixItems"]);
    if (first.length > 0) return first.map((item) => exampleValue(item, root, depth));
    const count = Math.min(numberAt(schema, "minItems") ?? 1, 3);
    return Array.from({ length: count }, () =>
      exampleValue(schema["items"] ?? { type: "string" }, root, depth),
    );
  }
  if (kind !== "object" && Object.keys(asObject(schema["properties"])).length === 0)
    return kind === "null" ? null : {};
  const required = new Set(asList(schema["required"]));
  const members = Object.entries(asObject(schema["properties"]));
  // At greater depth only required members are included, so that recursion in a schema ends.
  const shown = depth > 3 ? members.filter(([name]) => required.has(name)) : members;
  return Object.fromEntries(shown.map(([name, member]) => [name, exampleValue(member, root, depth)]));
}

const formats: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T09:30:00Z",
  "date": "2026-01-31",
  "time": "09:30:00Z",
  "duration": "PT1H",
  "email": "ada@example.com",
  "uri": "https://example.com/",
  "uri-reference": "/",
  "hostname": "example.com",
  "ipv4": "192.0.2.1",
  "ipv6": "2001:db8::1",
  "uuid": "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c",
};

function textOf(schema: SchemaObject): string {
  const { format } = schema;
  const text = typeof format === "string" ? (formats[format] ?? "text") : "text";
  const [min, max] = [numberAt(schema, "minLength") ?? 0, numberAt(schema, "maxLength") ?? Infinity];
  return text.padEnd(min, "x").slice(0, max);
}

function numberOf(schema: SchemaObject): number {
  const above = numberAt(schema, "exclusiveMinimum");
  const below = numberAt(schema, "exclusiveMaximum");
  const low = numberAt(schema, "minimum") ?? (above === null ? null : above + 1);
  const high = numberAt(schema, "maximum") ?? (below === null ? null : below - 1);
  const step = numberAt(schema, "multipleOf");
  const value = low ?? Math.min(1, high ?? 1);
  return step === null ? value : Math.ceil(value / step) * step;
}

function numberAt(schema: SchemaObject, name: string): number | null {
  const value = schema[name];
  return typeof value === "number" ? value : null;
}

function asObject(value: unknown): SchemaObject {
  return isSchemaObject(value) ? value : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Resolves references within the document only. */
function resolve(reference: string, root: unknown): unknown {
  if (!reference.startsWith("#")) return null;
  const names = reference
    .slice(1)
    .split("/")
    .filter((name) => name !== "");
  return names.reduce<unknown>(
    (value, name) => asObject(value)[name.replaceAll("~1", "/").replaceAll("~0", "~")],
    root,
  );
}
