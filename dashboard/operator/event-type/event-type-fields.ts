import { laidOutText, memberText } from "../../shared/json-tokens.ts";
import type { Row } from "../../shared/resources.ts";
import { type CommandOptions, type FormField, type Typed, typedOf } from "../form/form-fields.ts";

export const eventTypeFields: readonly FormField[] = [
  { name: "description", label: "Description", kind: "text" },
  {
    name: "schema",
    label: "JSON Schema",
    kind: "json",
    hint: "JSON Schema 2020-12 for data, without remote references. If empty, any object is accepted.",
    whenEmpty: null,
    rows: 16,
  },
  {
    name: "examples",
    label: "Examples (JSON)",
    kind: "json",
    hint: "A list of objects that match the schema. Tests send the first one.",
    whenEmpty: [],
    rows: 10,
  },
];

/** `text` is the raw response, because parsing would round numbers. */
export function typedEventType(eventType: Row, text: string): Typed {
  const asSent = (member: string) => laidOutText(memberText(text, { member }) ?? "");
  return {
    ...typedOf(eventTypeFields, eventType),
    ...(eventType["schema"] !== null && { schema: asSent("schema") }),
    examples: asSent("examples"),
  };
}

/** Options of `posthorn event-types put`. */
export const eventTypeOptions: CommandOptions = {
  description: (text) => [["description", String(text)]],
  schema: (schema) => [["schema", JSON.stringify(schema)]],
  examples: (examples) => (Array.isArray(examples) ? exampleOptions(examples) : null),
};

function exampleOptions(examples: readonly unknown[]): readonly (readonly [string, string])[] {
  if (examples.length === 0) return [["example", "none"]];
  return examples.map((example) => ["example", JSON.stringify(example)]);
}
