/** What a listing of events may be asked for. */
import { eventFields } from "./event.ts";
import { flag, line, timeOrDate } from "./field.ts";
import type { Field, Fields } from "./field.ts";
import { eventPatternsField, tenantIdField } from "./names.ts";

const idempotencyKey: Field<string> = Object.assign({}, eventFields.idempotencyKey, {
  doc: "Only the event that was published with this key, as long as its history is kept; of several the newest.",
});
const source: Field<string> = Object.assign({}, eventFields.source, {
  doc: "Only events of this application.",
});

export const eventListFields = {
  eventTypes: eventPatternsField,
  source,
  idempotencyKey,
  unmatched: flag({ doc: "True for events that no webhook asked for, false for the others." }),
  dataContains: line({
    lengthMin: 1,
    lengthMax: 200,
    doc: "Text in what was published, letter by letter. Takes a key that may manage.",
  }),
  tenantId: tenantIdField,
  from: timeOrDate({ doc: "Only events accepted at or after this time." }),
  to: timeOrDate({ doc: "Only events accepted before this time." }),
} satisfies Fields;
