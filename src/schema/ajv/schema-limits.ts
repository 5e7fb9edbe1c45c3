import type { FieldProblem, SchemaRefusal } from "../../ports/schema-compiler.ts";

/** A registered schema is untrusted input; these limits bound the cost of reading it. */
const schemaBytesMax = 64 * 1024;
const schemaDepthMax = 32;
/** Total number of subschemas. Each becomes code: five hundred take about 0.2 s to compile, once. */
const subschemasMax = 500;
/** Limit per schema. */
const problemsMax = 10;

/** How a keyword contains subschemas. */
type KeywordShape = "value" | "schema" | "schema_list" | "schema_map";

/** All supported keywords (JSON Schema 2020-12). An unknown keyword would silently have no effect, so it is refused. */
const keywordShapes: ReadonlyMap<string, KeywordShape> = new Map([
  ...shaped(
    "value",
    "$schema $id $comment $ref title description default deprecated readOnly writeOnly examples",
  ),
  ...shaped("value", "type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum"),
  ...shaped(
    "value",
    "maxLength minLength pattern format maxItems minItems uniqueItems maxContains minContains",
  ),
  ...shaped(
    "value",
    "maxProperties minProperties required dependentRequired contentEncoding contentMediaType",
  ),
  ...shaped("schema", "items contains additionalProperties propertyNames not if then else"),
  ...shaped("schema", "unevaluatedItems unevaluatedProperties contentSchema"),
  ...shaped("schema_list", "prefixItems allOf anyOf oneOf"),
  ...shaped("schema_map", "properties patternProperties dependentSchemas $defs definitions"),
]);

function shaped(shape: KeywordShape, names: string): readonly (readonly [string, KeywordShape])[] {
  return names.split(" ").map((name) => [name, shape] as const);
}

const notSupported: ReadonlyMap<string, string> = new Map([
  ["$anchor", "is not supported; use a path reference, such as #/$defs/address"],
  ...["$dynamicAnchor", "$dynamicRef", "$vocabulary", "$async"].map(
    (name) => [name, "is not supported"] as const,
  ),
]);

/** A subschema, with its path for messages and its JSON pointer. */
export interface Subschema {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly field: string;
  readonly pointer: string;
}

/** The subschemas of a schema, or the reasons why it is refused. */
export type SchemaSurvey =
  | { readonly kind: "fits"; readonly subschemas: readonly Subschema[] }
  | { readonly kind: "refused"; readonly problems: readonly FieldProblem[] };

/** Walks a schema of permitted size once, and checks everything that can be checked without compiling it. */
export function surveySchema(schema: Readonly<Record<string, unknown>>): SchemaSurvey {
  const surveyor = new Surveyor();
  surveyor.visit({ value: schema, field: "schema", pointer: "#" });
  surveyor.checkReferences();
  const problems = surveyor.problems.slice(0, problemsMax);
  return problems.length === 0
    ? { kind: "fits", subschemas: surveyor.subschemas }
    : { kind: "refused", problems };
}

/**
 * Returns a problem with the size or depth of a schema. Checks the depth first, because serialising a very deep schema
 * would not return.
 */
export function sizeProblemOf(schema: unknown): FieldProblem | null {
  if (!isWithinDepth(schema, schemaDepthMax)) {
    return { field: "schema", message: `is nested more than ${schemaDepthMax} deep` };
  }
  const bytes = new TextEncoder().encode(JSON.stringify(schema)).length;
  if (bytes <= schemaBytesMax) return null;
  return { field: "schema", message: `has ${bytes} bytes; the limit is ${schemaBytesMax} bytes` };
}

function isWithinDepth(value: unknown, depthLeft: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depthLeft === 0) return false;
  return Object.values(value).every((inner) => isWithinDepth(inner, depthLeft - 1));
}

interface Visited {
  readonly value: unknown;
  readonly field: string;
  readonly pointer: string;
}

class Surveyor {
  readonly problems: FieldProblem[] = [];
  readonly subschemas: Subschema[] = [];
  readonly #pointers = new Set<string>();

  visit({ value, field, pointer }: Visited): void {
    this.#pointers.add(pointer);
    if (typeof value === "boolean") return;
    if (!isRecord(value))
      return void this.problems.push({ field, message: "must be a schema: an object or a boolean" });
    if (this.subschemas.length === subschemasMax) {
      this.problems.push({ field: "schema", message: `has more than ${subschemasMax} subschemas` });
    }
    if (this.subschemas.length > subschemasMax) return;
    this.subschemas.push({ schema: value, field, pointer });
    for (const [keyword, inner] of Object.entries(value)) {
      this.#visitKeyword({
        keyword,
        value: inner,
        field: `${field}.${keyword}`,
        pointer: `${pointer}/${escape(keyword)}`,
      });
    }
    if (pointer !== "#" && "$id" in value)
      this.problems.push({ field: `${field}.$id`, message: "is allowed only at the top level" });
  }

  /** References may only point to subschemas of the same schema. */
  checkReferences(): void {
    for (const { schema, field } of this.subschemas) {
      const reference = schema["$ref"];
      if (reference === undefined) continue;
      if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) {
        this.problems.push({
          field: `${field}.$ref`,
          message: "must be a path inside this schema, such as #/$defs/address",
        });
      } else if (!this.#pointers.has(decodePointer(reference))) {
        this.problems.push({ field: `${field}.$ref`, message: "points to nothing in this schema" });
      }
    }
  }

  #visitKeyword({ keyword, value, field, pointer }: Visited & { readonly keyword: string }): void {
    const shape = keywordShapes.get(keyword);
    if (shape === undefined) {
      const message = notSupported.get(keyword) ?? "is not a keyword of JSON Schema 2020-12";
      this.problems.push({ field, message });
    } else if (shape === "schema") {
      this.visit({ value, field, pointer });
    } else if (shape === "schema_list" && Array.isArray(value)) {
      for (const [index, inner] of (value as readonly unknown[]).entries()) {
        this.visit({ value: inner, field: `${field}[${index}]`, pointer: `${pointer}/${index}` });
      }
    } else if (shape === "schema_map" && isRecord(value)) {
      for (const [name, inner] of Object.entries(value)) {
        this.visit({ value: inner, field: `${field}.${name}`, pointer: `${pointer}/${escape(name)}` });
      }
    } else if (shape !== "value") {
      this.problems.push({
        field,
        message: shape === "schema_list" ? "must be a list of schemas" : "must be an object",
      });
    }
  }
}

/** JSON Pointer escapes (RFC 6901). */
function escape(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** A reference is a URI fragment: `%25` stands for `%`. */
function decodePointer(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return "";
  }
}

export function refusal(problems: readonly FieldProblem[]): SchemaRefusal {
  return { kind: "refused", problems };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Keywords whose subschemas apply to the same value as the schema itself. */
const inPlaceLists = ["allOf", "anyOf", "oneOf"];
const inPlaceSchemas = ["not", "if", "then", "else"];

/** Whether a reference may lead back to itself without a step into the data. */
export function hasEndlessReference(subschemas: readonly Subschema[]): boolean {
  const byPointer = new Map(subschemas.map((subschema) => [subschema.pointer, subschema.schema]));
  const finished = new Set<string>();
  const open = new Set<string>();
  const leadsBack = (pointer: string): boolean => {
    const schema = byPointer.get(pointer);
    if (schema === undefined || finished.has(pointer)) return false;
    if (open.has(pointer)) return true;
    open.add(pointer);
    const found = inPlaceOf(schema, pointer).some(leadsBack);
    open.delete(pointer);
    finished.add(pointer);
    return found;
  };
  return subschemas.some(({ pointer }) => leadsBack(pointer));
}

function inPlaceOf(schema: Readonly<Record<string, unknown>>, pointer: string): readonly string[] {
  const reference = schema["$ref"];
  return [
    ...(typeof reference === "string" ? [decodePointer(reference)] : []),
    ...inPlaceSchemas.filter((keyword) => keyword in schema).map((keyword) => `${pointer}/${keyword}`),
    ...inPlaceLists.flatMap((keyword) =>
      ((schema[keyword] ?? []) as readonly unknown[]).map((_, index) => `${pointer}/${keyword}/${index}`),
    ),
    ...Object.keys(schema["dependentSchemas"] ?? {}).map(
      (name) => `${pointer}/dependentSchemas/${escape(name)}`,
    ),
  ];
}
