import { document, flag, jsonSchema, list, nullable, text, time } from "./field.ts";
import type { Fields, InputOf } from "./field.ts";
import { eventTypeField, tenantIdField } from "./names.ts";

export const eventTypeFields = {
  description: text({ lengthMax: 4_096, doc: "Free-form description." }),
  schema: nullable(
    jsonSchema({
      doc: "JSON Schema 2020-12 of `data`, without remote references; null accepts any object.",
    }),
  ),
  examples: list(document(), { countMin: 0, countMax: 20, bytesMax: 256 * 1_024 }),
  deprecated: flag(),
} satisfies Fields;
export type EventTypeFields = InputOf<typeof eventTypeFields>;

export const eventTypeShown = {
  name: eventTypeField,
  tenantId: tenantIdField,
  ...eventTypeFields,
  createdAt: time({ doc: "When it was registered." }),
  updatedAt: time({ doc: "When it was last changed." }),
} satisfies Fields;
