/** The fields of the form for a connection, beside its two ends. */
import type { FormField } from "../form/form-fields.ts";

export const filterField: FormField = {
  name: "filter",
  label: "Filter (JSON)",
  kind: "json",
  hint: "Everything goes through when left empty.",
  whenEmpty: null,
};

export const connectionFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line", hint: "For people." },
  {
    name: "required",
    label: "In pass-through, senders are told of success only when this one accepted",
    kind: "flag",
  },
  filterField,
  {
    name: "delay_ms",
    label: "Send no sooner than after, ms",
    kind: "number",
    hint: "Store and forward alone: passed through, the sender waits.",
    isSeldom: true,
  },
  {
    name: "deduplicate",
    label: "Ignore what came before (JSON)",
    kind: "json",
    hint: 'For senders that give no id. Such as {"window_ms": 600000, "exclude_fields": ["/sent_at"]}.',
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "retry_delays_ms",
    label: "Delays between requests, ms (JSON)",
    kind: "json",
    hint: "Store and forward alone, instead of the schedule of the webhook. Such as [5000, 60000].",
    whenEmpty: null,
    isSeldom: true,
  },
  { name: "allow_chain", label: "May lead to an address of this deployment", kind: "flag", isSeldom: true },
];

/** What a filter may say, each with a sentence. */
export const filterExamples: readonly (readonly [string, object])[] = [
  ["Pull requests that were opened or closed", { body: { action: { $in: ["opened", "closed"] } } }],
  ["One kind of event, by its header", { headers: { "x-github-event": "push" } }],
  ["Orders from 100 on", { body: { total: { $gte: 100 } } }],
  ["One of two", { $or: [{ body: { type: "order.paid" } }, { body: { type: { $startsWith: "refund." } } }] }],
];
