/** TypeScript for those who publish and receive: what the data of each event type is. */
import { commentLines } from "./comment-lines.ts";
import { declarationOf, isSchemaObject, type TypeContext } from "./schema-type.ts";

export interface DescribedEventType {
  readonly name: string;
  readonly description: string;
  readonly deprecated: boolean;
  /** JSON Schema of the data; null where none is registered. */
  readonly schema: unknown;
}

/** `Events` by the name of each type, with an interface for the data of each, and the messages that receivers get. */
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
    "/** What receivers get with the profile `standard`: the type tells what the data is. */",
    "export type WebhookMessage = {\n  [Type in EventTypeName]: { type: Type; timestamp: string; data: Events[Type] };\n}[EventTypeName];\n",
  ].join("\n");
}

/** The type of the data, with those of its definitions before it. */
function declared(typeName: string, schema: unknown, names: UniqueNames): readonly string[] {
  const parts = definitionsOf(schema).map(({ reference, definition, name }) => ({
    reference,
    definition,
    name: names.of(`${typeName} ${name}`),
  }));
  const known = new Map(parts.map(({ reference, name }) => [reference, name]));
  known.set("#", typeName);
  const context: TypeContext = { nameOf: (reference) => known.get(reference) ?? null };
  // Data is an object whatever the schema leaves open.
  const whole = schema === null ? { type: "object" } : schema;
  return [
    ...parts.map(({ name, definition }) => declarationOf(name, definition, context)),
    declarationOf(typeName, isSchemaObject(whole) ? { type: "object", ...whole } : whole, context),
  ];
}

function definitionsOf(schema: unknown) {
  if (!isSchemaObject(schema)) return [];
  return ["$defs", "definitions"].flatMap((keyword) => {
    const definitions = schema[keyword];
    if (!isSchemaObject(definitions)) return [];
    return Object.entries(definitions).map(([name, definition]) => ({
      reference: `#/${keyword}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      definition,
      name,
    }));
  });
}

/** Names that a program can have, each once. */
class UniqueNames {
  readonly #taken: Set<string>;

  constructor(reserved: readonly string[]) {
    this.#taken = new Set(reserved);
  }

  /** `order.line_item.added` is `OrderLineItemAdded`; a second one of that name has a number. */
  of(text: string): string {
    const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
    const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
    const base = /^[A-Za-z]/.test(joined) ? joined : `Event${joined}`;
    let name = base;
    for (let number = 2; this.#taken.has(name); number += 1) name = `${base}${number}`;
    this.#taken.add(name);
    return name;
  }
}
