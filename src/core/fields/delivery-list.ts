/** What a listing of deliveries may be asked for. */
import { deliveryOrigins, deliveryStatuses, waitingReasons } from "../delivery.ts";
import { failureCategories } from "../outcome.ts";
import { eventFields } from "./event.ts";
import { choice, id, integer, line, list, timeOrDate, word } from "./field.ts";
import type { Field, Fields } from "./field.ts";
import { eventPatternsField, tenantIdField } from "./names.ts";

/** `next_attempt` begins with what is due first, and knows only what waits. */
export const deliveryOrders = ["newest", "oldest", "next_attempt"] as const;
export type DeliveryOrder = (typeof deliveryOrders)[number];

const entriesMax = 100;
const severally = "May be repeated.";

/** Of a listing within one webhook or one event as well. */
export const deliveryFilterFields = {
  eventTypes: eventPatternsField,
  statuses: list(choice(deliveryStatuses), {
    countMax: entriesMax,
    api: "status",
    doc: severally,
  }),
  categories: list(choice(failureCategories), {
    countMax: entriesMax,
    api: "failure_category",
    doc: `Of the last failed attempt. ${severally}`,
  }),
  httpStatuses: list(
    word({
      lengthMax: 4,
      pattern: "^([1-5][0-9][0-9]|[1-5]xx|none)$",
      rule: "a status such as 422, a class such as 5xx, or none",
    }),
    {
      countMax: entriesMax,
      api: "http_status",
      doc: `Status that the last attempt got: \`422\`, \`5xx\`, or \`none\` for an attempt without an answer. ${severally}`,
    },
  ),
  waitingFor: list(choice(waitingReasons), { countMax: entriesMax, doc: severally }),
  origins: list(choice(deliveryOrigins), {
    countMax: entriesMax,
    api: "origin",
    doc: `Why the delivery was made. ${severally}`,
  }),
  attemptMin: integer({ min: 1, max: 1_000, doc: "Only deliveries with so many attempts or more." }),
  errorText: line({
    lengthMin: 1,
    lengthMax: 200,
    api: "error",
    doc: "Text in the error or in the kept part of the answer of the last attempt; capital letters do not count.",
  }),
  from: timeOrDate({ doc: "Only deliveries made at or after this time." }),
  to: timeOrDate({ doc: "Only deliveries made before this time." }),
  order: choice(deliveryOrders, {
    default: "newest",
    doc: "`next_attempt` lists what waits, what is due first at the top.",
  }),
} satisfies Fields;

const idempotencyKeyField: Field<string> = Object.assign({}, eventFields.idempotencyKey, {
  doc: "Only deliveries of the event that was published with this key.",
});

/** Of a listing over everything. */
export const deliveryListFields = {
  ...deliveryFilterFields,
  webhookIds: list(id(), { countMax: entriesMax, api: "webhook_id", doc: severally }),
  eventId: id({ doc: "Only deliveries of this event." }),
  idempotencyKey: idempotencyKeyField,
  sourceId: id({ doc: "Only deliveries of what this source of the gateway received, stored and forwarded." }),
  tenantId: tenantIdField,
} satisfies Fields;
