import { type Fields, type InputOf, integer, line, nullable, object, type StoredOf, time } from "./field.ts";
import { rateLimitFields, tenantIdField, workerPoolField } from "./names.ts";
import { type ColumnTable, defineResource, type OptionTable } from "./resource.ts";
import { tenantIdSchema } from "./schema.ts";

export const tenantFields = {
  name: line({ lengthMin: 1, lengthMax: 255, doc: "Display name." }),
  rateLimit: nullable(object(rateLimitFields, { doc: "Limit for all webhooks of the tenant combined." })),
  webhooksMax: nullable(integer({ min: 0, max: 1_000_000, doc: "Maximum number of webhooks." })),
  workerPool: workerPoolField,
} satisfies Fields;
export type TenantInput = InputOf<typeof tenantFields>;

const shown = {
  id: tenantIdField,
  ...tenantFields,
  createdAt: time({ doc: "When it was created." }),
  updatedAt: time({ doc: "When it was last changed." }),
} satisfies Fields;

/**
 * The owner of webhooks and events. The tenant `default` always exists. If no rate limit or maximum is set, the tenant
 * has none.
 */
export type Tenant = StoredOf<typeof shown>;

export const tenantResource = defineResource({
  noun: "tenant",
  title: "Tenant",
  path: "/v1/tenants",
  tag: "Tenants",
  key: tenantIdSchema,
  input: tenantFields,
  shown,
  create: {
    title: "TenantInput",
    examples: [{ name: "Acme", rate_limit: { requests_per_minute: 1_000, burst: 100 } }],
  },
});

export const tenantOptions: OptionTable<typeof tenantFields> = {
  name: "--name <name>",
  rateLimit: ["--rate-limit <per-minute>", "requests per minute, in total for all its webhooks"],
  webhooksMax: "--webhooks-max <count>",
  workerPool: ["--worker-pool <name>", "worker pool that delivers for this tenant"],
};

export const tenantColumns: ColumnTable<typeof shown> = {
  ID: "id",
  NAME: "name",
  "WEBHOOKS MAX": "webhooksMax",
  POOL: "workerPool",
  "CREATED (UTC)": "createdAt",
};
