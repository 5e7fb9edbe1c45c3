import {
  document,
  type Fields,
  flag,
  type InputOf,
  jsonSchema,
  list,
  nullable,
  type StoredOf,
  text,
  time,
} from "./field.ts";
import { eventTypeField, tenantIdField } from "./names.ts";
import { type ColumnTable, defineResource, type OptionTable } from "./resource.ts";
import { eventTypeName } from "./schema.ts";

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

/** Null selects the tenant of the scope. */
export interface EventTypeName {
  readonly tenantId: string | null;
  readonly name: string;
}
export interface EventTypeInput extends InputOf<typeof eventTypeFields>, EventTypeName {}

export const eventTypeShown = {
  name: eventTypeField,
  tenantId: tenantIdField,
  ...eventTypeFields,
  createdAt: time({ doc: "When it was registered." }),
  updatedAt: time({ doc: "When it was last changed." }),
} satisfies Fields;

/** A registered event type. Events of unregistered types can be published too. */
export type EventType = StoredOf<typeof eventTypeShown>;

export const eventTypeFilters = { tenantId: tenantIdField } satisfies Fields;

export const eventTypeResource = defineResource({
  noun: "event type",
  title: "EventType",
  path: "/v1/event-types",
  tag: "Event types",
  key: ["name", eventTypeName],
  isPerTenant: true,
  input: eventTypeFields,
  shown: eventTypeShown,
  filters: eventTypeFilters,
  create: {
    title: "EventTypeInput",
    examples: [{ description: "An order was paid.", schema: { type: "object", required: ["order_id"] } }],
  },
});

export const eventTypeOptions: OptionTable<typeof eventTypeFields> = {
  description: "--description <text>",
};

export const eventTypeColumns: ColumnTable<typeof eventTypeShown> = {
  NAME: "name",
  TENANT: "tenantId",
  SCHEMA: (row) => (row["schema"] === null ? "no" : "yes"),
  DEPRECATED: (row) => (row["deprecated"] === true ? "yes" : "no"),
  DESCRIPTION: "description",
};
