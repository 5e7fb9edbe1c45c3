/** Filters and orders of delivery lists. */
import { deliveryOrigins, deliveryStatuses, waitingReasons } from "../delivery.ts";
import { failureCategories } from "../outcome.ts";
import { eventFields } from "./event.ts";
import { choice, id, integer, line, list, timeOrDate, word } from "./field.ts";
import type { Field, Fields } from "./field.ts";
import { eventPatternsField, tenantIdField } from "./names.ts";

/** `next_attempt` lists the deliveries that are due first, and only waiting ones. */
export const deliveryOrders = ["newest", "oldest", "next_attempt"] as const;
export type DeliveryOrder = (typeof deliveryOrders)[number];

const entriesMax = 100;
const severally = "May be repeated.";

/** Also for lists within one webhook or one event. */
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
    doc: `Category of the last failed attempt. ${severally}`,
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
      doc: `Status of the last attempt: \`422\`, \`5xx\`, or \`none\` for an attempt without a response. ${severally}`,
    },
  ),
  waitingFor: list(choice(waitingReasons), { countMax: entriesMax, doc: severally }),
  origins: list(choice(deliveryOrigins), {
    countMax: entriesMax,
    api: "origin",
    doc: `Why the delivery was created. ${severally}`,
  }),
  attemptMin: integer({ min: 1, max: 1_000, doc: "Only deliveries with at least this many attempts." }),
  errorText: line({
    lengthMin: 1,
    lengthMax: 200,
    api: "error",
    doc: "Text in the error or in the stored part of the response of the last attempt; case-insensitive.",
  }),
  from: timeOrDate({ doc: "Only deliveries created at or after this time." }),
  to: timeOrDate({ doc: "Only deliveries created before this time." }),
  order: choice(deliveryOrders, {
    default: "newest",
    doc: "`next_attempt` lists waiting deliveries, those due first at the top.",
  }),
} satisfies Fields;

const idempotencyKeyField: Field<string> = Object.assign({}, eventFields.idempotencyKey, {
  doc: "Only deliveries of the event that was published with this key.",
});

/** For lists over all deliveries. */
export const deliveryListFields = {
  ...deliveryFilterFields,
  webhookIds: list(id(), { countMax: entriesMax, api: "webhook_id", doc: severally }),
  eventId: id({ doc: "Only deliveries of this event." }),
  idempotencyKey: idempotencyKeyField,
  sourceId: id({
    doc: "Only deliveries of messages that this gateway source received in `store_and_forward`.",
  }),
  tenantId: tenantIdField,
} satisfies Fields;
