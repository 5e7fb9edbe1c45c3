import { eventTypeFilters } from "../../core/fields/filters.ts";
import { Type } from "./type.ts";
import { apiKeyFields, apiKeyShown } from "../../core/fields/api-key.ts";
import { eventTypeFields, eventTypeShown } from "../../core/fields/event-type.ts";
import { line } from "../../core/fields/field.ts";
import { tenantFields, tenantShown } from "../../core/fields/tenant.ts";
import { listingQuery, closed, listOf, oneOf, tenantIdSchema } from "./building-blocks.ts";
import { schemaOf, shownSchemaOf } from "./field-schema.ts";

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
