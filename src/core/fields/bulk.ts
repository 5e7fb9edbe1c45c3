/** What callers may ask of many deliveries at once. */
import { priorities } from "../delivery.ts";
import { closeCircuits, endingsPerSecond, newRate, requestsPerSecond } from "./actions.ts";
import { deliveryListFields } from "./delivery-list.ts";
import { choice, flag, id, list, nullable, object } from "./field.ts";
import type { Fields } from "./field.ts";
import { deadLetterFilters } from "./filters.ts";

const ids = list(id(), { countMax: 1_000, doc: "Ids of deliveries, instead of a filter." });
const dryRun = flag({ doc: "Only count, and say what would be left out." });

const { order: _, ...deliveryFilter } = deliveryListFields;

/** The filters of `GET /v1/deliveries`. */
const ofDeliveries = {
  ids,
  filter: object(deliveryFilter, {
    title: "DeliveryBulkFilter",
    doc: "As in `GET /v1/deliveries`; an empty one is everything. Without `to` it ends with the time of the call.",
  }),
  dryRun,
} satisfies Fields;

export const retryDeliveriesFields = {
  ...ofDeliveries,
  priority: nullable(choice(priorities, { doc: "Of the deliveries from now on; unchanged if omitted." })),
  closeCircuits,
  requestsPerSecond,
} satisfies Fields;

export const cancelDeliveriesFields = {
  ...ofDeliveries,
  requestsPerSecond: endingsPerSecond,
} satisfies Fields;

export const discardFields = {
  ids,
  filter: object(deadLetterFilters, {
    title: "DeadLetterBulkFilter",
    doc: "As in `GET /v1/dlq`; an empty one is everything.",
  }),
  dryRun,
  requestsPerSecond: endingsPerSecond,
} satisfies Fields;

/** `running` ends a pause. */
export const operationChangeFields = {
  status: choice(["running", "paused", "cancelled"], { doc: "`running` ends a pause." }),
  requestsPerSecond: newRate,
} satisfies Fields;
