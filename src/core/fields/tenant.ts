import { integer, line, nullable, object, required, time } from "./field.ts";
import type { Fields, InputOf } from "./field.ts";
import { tenantIdField, workerPoolField } from "./names.ts";

const rateMax = 1_000_000;

/** WDS-59, 60. */
export const rateLimitFields = {
  requestsPerMinute: required(integer({ min: 1, max: rateMax })),
  burst: integer({
    min: 1,
    max: rateMax,
    // WDS-60.
    default: 20,
    doc: "Burst size. If omitted, the current value is kept.",
  }),
} satisfies Fields;

export type RateLimitInput = InputOf<typeof rateLimitFields>;

export const tenantFields = {
  name: line({ lengthMin: 1, lengthMax: 255, doc: "Display name." }),
  rateLimit: nullable(object(rateLimitFields, { doc: "Limit over all its webhooks." })),
  webhooksMax: nullable(integer({ min: 0, max: 1_000_000, doc: "Maximum number of webhooks." })),
  workerPool: workerPoolField,
} satisfies Fields;
export type TenantInput = InputOf<typeof tenantFields>;

export const tenantShown = {
  id: tenantIdField,
  ...tenantFields,
  createdAt: time({ doc: "When it was created." }),
  updatedAt: time({ doc: "When it was last changed." }),
} satisfies Fields;
