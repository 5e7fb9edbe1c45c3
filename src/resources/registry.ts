import {
  choice,
  document,
  type Fields,
  flag,
  id,
  type InputOf,
  integer,
  jsonSchema,
  line,
  list,
  nullable,
  object,
  required,
  text,
  time,
} from "./field.ts";
import { eventTypeFilters } from "./filters.ts";
import { eventTypeField, tenantIdField, workerPoolField } from "./names.ts";
import {
  closed,
  listingQuery,
  listOf,
  oneOf,
  schemaOf,
  shownSchemaOf,
  tenantIdSchema,
  Type,
} from "./schema.ts";

/**
 * What a key may do: `read` reads, `publish` publishes, `manage` does both and edits, `admin` does all of this for all
 * tenants.
 */
export const apiKeyRoles = ["admin", "manage", "publish", "read"] as const;

export const apiKeyFields = {
  name: required(
    line({ lengthMin: 1, lengthMax: 255, doc: "What the key is for.", examples: ["shop backend"] }),
  ),
  role: required(
    choice(apiKeyRoles, {
      doc: "`publish` only publishes, `read` only reads, `manage` does both and changes webhooks; `admin` covers all tenants.",
    }),
  ),
  tenantId: nullable(tenantIdField),
  expiresAt: nullable(time({ doc: "The key stops working at this time; absent or null for never." })),
} satisfies Fields;
export type ApiKeyInput = InputOf<typeof apiKeyFields>;

/** Never includes the hash. */
export const apiKeyShown = {
  id: id({ doc: "Id of the key." }),
  name: apiKeyFields.name,
  role: apiKeyFields.role,
  tenantId: apiKeyFields.tenantId,
  hint: line({ lengthMax: 4, doc: "The last four characters." }),
  createdAt: time({ doc: "When the key was created." }),
  expiresAt: apiKeyFields.expiresAt,
} satisfies Fields;

export const eventTypeFields = {
  description: text({ lengthMax: 4_096, doc: "Free-form description." }),
  schema: nullable(
    jsonSchema({
      doc: "JSON Schema 2020-12 of `data`, without remote references; null accepts any object.",
    }),
  ),
  examples: list(document(), { countMin: 0, countMax: 20, bytesMax: 256 * 1_024 }),
  deprecated: flag(),
} satisfies Fields;
export type EventTypeFields = InputOf<typeof eventTypeFields>;

export const eventTypeShown = {
  name: eventTypeField,
  tenantId: tenantIdField,
  ...eventTypeFields,
  createdAt: time({ doc: "When it was registered." }),
  updatedAt: time({ doc: "When it was last changed." }),
} satisfies Fields;

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

export const eventTypeInputSchema = schemaOf(eventTypeFields, {
  title: "EventTypeInput",
  examples: [{ description: "An order was paid.", schema: { type: "object", required: ["order_id"] } }],
});

export const eventTypeSchema = shownSchemaOf(eventTypeShown, { title: "EventType" });
export const eventTypeListSchema = listOf(eventTypeSchema, "EventTypeList");

export const eventTypeQuery = closed({ tenant_id: Type.Optional(tenantIdSchema) });
export const eventTypeListQuery = listingQuery(eventTypeFilters);

export const tenantInputSchema = schemaOf(tenantFields, {
  title: "TenantInput",
  examples: [{ name: "Acme", rate_limit: { requests_per_minute: 1_000, burst: 100 } }],
});

export const tenantSchema = shownSchemaOf(tenantShown, { title: "Tenant" });
export const tenantListSchema = listOf(tenantSchema, "TenantList");

export const apiKeyInputSchema = schemaOf(apiKeyFields, { title: "ApiKeyInput" });

const apiKeySchema = shownSchemaOf(apiKeyShown, { title: "ApiKey" });
export const apiKeyCreatedSchema = shownSchemaOf(
  { ...apiKeyShown, key: line({ lengthMax: 512, doc: "Shown only once." }) },
  { title: "ApiKeyCreated" },
);
export const apiKeyListSchema = listOf(apiKeySchema, "ApiKeyList");

export const indexSchema = closed(
  {
    service: Type.Literal("posthorn"),
    documentation: Type.String({ description: "For people." }),
    openapi: Type.String({ description: "For programs." }),
  },
  { title: "Index" },
);

export const readinessSchema = closed(
  {
    status: oneOf(["ok", "unavailable"]),
    reasons: Type.Array(Type.String()),
    details: Type.Optional(Type.Array(Type.String(), { description: "Actions for a person, if any." })),
  },
  { title: "Readiness" },
);
