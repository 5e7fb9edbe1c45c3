/** Form fields of a connection, except its source and webhook. */
import type { FormField } from "../form/form-fields.ts";

export const filterField: FormField = {
  name: "filter",
  label: "Filter (JSON)",
  kind: "json",
  hint: "If empty, all messages pass.",
  whenEmpty: null,
};

export const connectionFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line", hint: "Shown in lists." },
  {
    name: "required",
    label: "Required: in pass-through, report success to the sender only if this webhook accepted",
    kind: "flag",
  },
  filterField,
  {
    name: "delay_ms",
    label: "Delay, ms",
    kind: "number",
    hint: "Store and forward only. In pass-through the sender waits for the response.",
    isSeldom: true,
  },
  {
    name: "deduplicate",
    label: "Deduplication (JSON)",
    kind: "json",
    hint: 'For senders without message ids. For example {"window_ms": 600000, "exclude_fields": ["/sent_at"]}.',
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "retry_delays_ms",
    label: "Retry delays, ms (JSON)",
    kind: "json",
    hint: "Store and forward only. Replaces the webhook's schedule. For example [5000, 60000].",
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "allow_chain",
    label: "Allow forwarding to an address of this deployment",
    kind: "flag",
    isSeldom: true,
  },
];

/** Example filters with descriptions. */
export const filterExamples: readonly (readonly [string, object])[] = [
  ["Opened or closed pull requests", { body: { action: { $in: ["opened", "closed"] } } }],
  ["One event type, by header", { headers: { "x-github-event": "push" } }],
  ["Orders of 100 or more", { body: { total: { $gte: 100 } } }],
  [
    "Either of two conditions",
    { $or: [{ body: { type: "order.paid" } }, { body: { type: { $startsWith: "refund." } } }] },
  ],
];
