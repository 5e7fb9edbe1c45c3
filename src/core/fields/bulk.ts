/** Input for operations on many deliveries. */
import { priorities } from "../delivery.ts";
import { closeCircuits, endingsPerSecond, newRate, requestsPerSecond } from "./actions.ts";
import { deliveryListFields } from "./delivery-list.ts";
import { choice, flag, id, list, nullable, object } from "./field.ts";
import type { Fields } from "./field.ts";
import { deadLetterFilters } from "./filters.ts";

const ids = list(id(), { countMax: 1_000, doc: "Ids of deliveries, instead of a filter." });
const dryRun = flag({ doc: "Only count the deliveries, and report which would be skipped." });

const { order: _, ...deliveryFilter } = deliveryListFields;

/** The filters of `GET /v1/deliveries`. */
const ofDeliveries = {
  ids,
  filter: object(deliveryFilter, {
    title: "DeliveryBulkFilter",
    doc: "As in `GET /v1/deliveries`; an empty filter matches everything. If `to` is omitted, it is the time of the call.",
  }),
  dryRun,
} satisfies Fields;

export const retryDeliveriesFields = {
  ...ofDeliveries,
  priority: nullable(choice(priorities, { doc: "New priority of the deliveries; unchanged if omitted." })),
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
    doc: "As in `GET /v1/dlq`; an empty filter matches everything.",
  }),
  dryRun,
  requestsPerSecond: endingsPerSecond,
} satisfies Fields;

export const operationChangeFields = {
  status: choice(["running", "paused", "cancelled"], { doc: "`running` resumes a paused operation." }),
  requestsPerSecond: newRate,
} satisfies Fields;
