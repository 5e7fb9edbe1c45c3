/** The fields of the form for a connection, beside its two ends. */
import type { FormField } from "../form/form-fields.ts";

export const filterField: FormField = {
  name: "filter",
  label: "Filter (JSON)",
  kind: "json",
  hint: "Everything goes through when left empty.",
  isNullWhenEmpty: true,
};

export const connectionFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line", hint: "For people." },
  {
    name: "required",
    label: "In pass-through, senders are told of success only when this one accepted",
    kind: "flag",
  },
  filterField,
];

/** What a filter may say, each with a sentence. */
export const filterExamples: readonly (readonly [string, object])[] = [
  ["Pull requests that were opened or closed", { body: { action: { $in: ["opened", "closed"] } } }],
  ["One kind of event, by its header", { headers: { "x-github-event": "push" } }],
  ["Orders from 100 on", { body: { total: { $gte: 100 } } }],
  ["One of two", { $or: [{ body: { type: "order.paid" } }, { body: { type: { $startsWith: "refund." } } }] }],
];
