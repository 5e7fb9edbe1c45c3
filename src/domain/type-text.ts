const columnsMax = 110;

/** A comment for editors, or an empty string. The text is user input, so it must not be able to end the comment. */
export function commentLines(paragraphs: readonly string[], margin: string): string {
  const lines = paragraphs
    .flatMap((text) => text.replaceAll("*/", "*\\/").split("\n"))
    .flatMap((line) => wrapped(line.trim(), columnsMax - margin.length - " * ".length));
  if (lines.length === 0) return "";
  if (lines.length === 1) return `${margin}/** ${lines[0] ?? ""} */\n`;
  const inner = lines.map((line) => `${margin} * ${line}`.trimEnd());
  return [`${margin}/**`, ...inner, `${margin} */`, ""].join("\n");
}

function wrapped(line: string, columns: number): readonly string[] {
  const rows: string[] = [];
  let row = "";
  for (const word of line.split(/\s+/)) {
    if (row !== "" && row.length + 1 + word.length > columns) {
      rows.push(row);
      row = word;
    } else row = row === "" ? word : `${row} ${word}`;
  }
  return row === "" ? rows : [...rows, row];
}

// JSON Schemas (2020-12) as TypeScript types, as far as the language can express them: objects, arrays, tuples,
// enumerations, unions, references within the document. Bounds, patterns and conditions are omitted, so the type
// accepts everything that the schema accepts, and more. A schema that says nothing about its shape becomes `unknown`.

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

/** `interface Name {…}` if possible, because editors display it in a shorter form; otherwise `type Name = …`. */
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

/** The type that results from the schema's own keywords. */
function own(schema: SchemaObject, context: TypeContext): string {
  const { $ref: reference, enum: choices, type } = schema;
  if (typeof reference === "string") return context.nameOf(reference) ?? "unknown";
  if ("const" in schema) return literal(schema["const"]);
  if (Array.isArray(choices)) return union(choices.map(literal));
  if (Array.isArray(type)) return union(type.map((one) => ofKind(one, schema, context)));
  return ofKind(type ?? impliedKind(schema), schema, context);
}

/** The types that result from the subschemas in `allOf`, `anyOf` and `oneOf`. */
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
  // The type of an index signature must include the types of all named members, so it is specific only if the schema
  // names no members.
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

/** Adds parentheses if the type is next to an operator. */
function inside(text: string, isBesideOperator: boolean): string {
  const isSimple =
    /^[\w$<>, ".]*$/.test(text) || (text.startsWith("{") && matchingEnd(text) === text.length - 1);
  return isBesideOperator && !isSimple && !text.endsWith("[]") ? `(${text})` : text;
}

/** The index of the bracket that closes the first one. Ignores brackets in quoted strings. */
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

export function commentOf(schema: SchemaObject, margin: string): string {
  const { description, deprecated } = schema;
  return commentLines(
    [
      ...(typeof description === "string" ? [description] : []),
      ...(deprecated === true ? ["@deprecated"] : []),
    ],
    margin,
  );
}

/** A definition that the same document refers to by name. */
interface SchemaDefinition {
  /** The result of `referenceKey` for a reference to this definition. */
  readonly key: string;
  /** The name exactly as the author wrote it. */
  readonly name: string;
  readonly definition: unknown;
}

/** The definitions of a schema, from both keywords that can contain them. */
export function definitionsOf(schema: unknown): readonly SchemaDefinition[] {
  if (!isSchemaObject(schema)) return [];
  return definitionKeywords.flatMap((keyword) => {
    const definitions = schema[keyword];
    if (!isSchemaObject(definitions)) return [];
    return Object.entries(definitions).map(([name, definition]) => ({
      key: `#/${keyword}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      definition,
      name,
    }));
  });
}

export const definitionKeywords = ["$defs", "definitions"] as const;

/** The normalised form of a local reference: a JSON pointer without the percent-encoding of its fragment. */
export function referenceKey(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

/** Unique identifiers for generated code. */
export class UniqueNames {
  readonly #taken: Set<string>;

  constructor(reserved: readonly string[] = []) {
    this.#taken = new Set(reserved);
  }

  /** `order.line_item.added` becomes `OrderLineItemAdded`; a number is appended if the name is taken. */
  of(text: string): string {
    const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
    const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
    const base = /^[A-Za-z]/.test(joined) ? joined : `Event${joined}`;
    return untaken(base, this.#taken);
  }
}

/** The name, with a number appended if it is taken. Marks the returned name as taken. */
export function untaken(base: string, taken: Set<string>, separator: string = ""): string {
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}${separator}${number}`;
  taken.add(name);
  return name;
}

// TypeScript definitions of the data of each event type, for publishers and receivers.

interface DescribedEventType {
  readonly name: string;
  readonly description: string;
  readonly deprecated: boolean;
  /** JSON Schema of the data; null if none is registered. */
  readonly schema: unknown;
}

/** `Events` with every type by name, an interface for the data of each, and the messages that receivers get. */
export function eventTypesText(eventTypes: readonly DescribedEventType[], head: readonly string[]): string {
  const names = new UniqueNames(["Events", "EventTypeName", "WebhookMessage"]);
  const declarations: string[] = [];
  const members = eventTypes.map((eventType) => {
    const { name, description, deprecated, schema } = eventType;
    const typeName = names.of(name);
    declarations.push(...declared(typeName, schema, names));
    const paragraphs = [...(description === "" ? [] : [description]), ...(deprecated ? ["@deprecated"] : [])];
    return `${commentLines(paragraphs, "  ")}  ${JSON.stringify(name)}: ${typeName};\n`;
  });
  return [
    ...head.map((line) => `// ${line}`.trimEnd()),
    "",
    ...declarations,
    `/** The data of each event type: \`createClient<Events>(…)\` of @posthorn/client. */\nexport interface Events {\n${members.join("")}}\n`,
    "export type EventTypeName = keyof Events;\n",
    "/** Messages with the profile `standard`: the type determines the data. */",
    "export type WebhookMessage = {\n  [Type in EventTypeName]: { type: Type; timestamp: string; data: Events[Type] };\n}[EventTypeName];\n",
  ].join("\n");
}

/** The type of the data, preceded by its definitions. */
function declared(typeName: string, schema: unknown, names: UniqueNames): readonly string[] {
  const parts = definitionsOf(schema).map(({ key, definition, name }) => ({
    key,
    definition,
    name: names.of(`${typeName} ${name}`),
  }));
  const known = new Map(parts.map(({ key, name }) => [key, name]));
  known.set("#", typeName);
  const context: TypeContext = { nameOf: (reference) => known.get(referenceKey(reference)) ?? null };
  // The payload data is always an object, even if the schema does not require it.
  const whole = schema === null ? { type: "object" } : schema;
  return [
    ...parts.map(({ name, definition }) => declarationOf(name, definition, context)),
    declarationOf(typeName, isSchemaObject(whole) ? { type: "object", ...whole } : whole, context),
  ];
}
