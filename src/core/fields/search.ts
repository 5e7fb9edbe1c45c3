import { line } from "./field.ts";

/** One search text for several kinds of resources. */
export const searchTextField = line({
  lengthMin: 1,
  lengthMax: 255,
  doc: "An id of an event, a delivery, a webhook or an operation; an idempotency key; or the beginning of a webhook's URL or description.",
  examples: ["order-4711-completed"],
});
