/** TypeScript definitions of the data of each event type, for publishers and receivers. */
import { commentLines } from "./comment-lines.ts";
import { declarationOf, isSchemaObject, type TypeContext } from "./schema-type.ts";
import { definitionsOf, referenceKey } from "./schema-definitions.ts";
import { UniqueNames } from "./unique-names.ts";

export interface DescribedEventType {
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
  // Data is always an object, even if the schema does not say so.
  const whole = schema === null ? { type: "object" } : schema;
  return [
    ...parts.map(({ name, definition }) => declarationOf(name, definition, context)),
    declarationOf(typeName, isSchemaObject(whole) ? { type: "object", ...whole } : whole, context),
  ];
}
