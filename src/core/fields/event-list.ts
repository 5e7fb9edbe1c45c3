/** Filters of event lists. */
import { eventFields } from "./event.ts";
import { flag, line, timeOrDate } from "./field.ts";
import type { Field, Fields } from "./field.ts";
import { eventPatternsField, tenantIdField } from "./names.ts";

const idempotencyKey: Field<string> = Object.assign({}, eventFields.idempotencyKey, {
  doc: "Only the event published with this key, while its history is kept; if there are several, the newest.",
});
const source: Field<string> = Object.assign({}, eventFields.source, {
  doc: "Only events of this application.",
});

export const eventListFields = {
  eventTypes: eventPatternsField,
  source,
  idempotencyKey,
  unmatched: flag({ doc: "True for events that no webhook subscribes to, false for all others." }),
  dataContains: line({
    lengthMin: 1,
    lengthMax: 200,
    doc: "Case-sensitive substring of the payload. Requires a key with the `manage` role.",
  }),
  tenantId: tenantIdField,
  from: timeOrDate({ doc: "Only events accepted at or after this time." }),
  to: timeOrDate({ doc: "Only events accepted before this time." }),
} satisfies Fields;
