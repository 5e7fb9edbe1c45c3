/** Maps a local reference to its place in the document. */
export type PointerTo = (reference: string) => string;

/**
 * Embeds a tenant's JSON Schema as a component of a larger document. `pointerTo` maps its internal references to their
 * new places. Names of properties and values such as `const` are never changed. The registry has already refused
 * everything else that depends on the location of a schema: anchors, nested `$id`s and external references
 * (adapters/schema/ajv/schema-limits.ts).
 */
export function embedSchema(schema: unknown, pointerTo: PointerTo): unknown {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  // A component has no id, and uses the dialect of the document.
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
