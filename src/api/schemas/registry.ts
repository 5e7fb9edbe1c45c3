import { Type } from "typebox";
import {
  anyValue,
  closed,
  id,
  instant,
  line,
  listOf,
  nullable,
  oneOf,
  pageProperties,
  tenantId,
} from "./building-blocks.ts";

export const eventTypeInputSchema = closed(
  {
    description: Type.Optional(Type.String({ maxLength: 4_096 })),
    schema: Type.Optional(
      Type.Unsafe<unknown>({
        type: ["object", "boolean", "null"],
        description: "JSON Schema 2020-12 of `data`, without remote references; null accepts any object.",
      }),
    ),
    examples: Type.Optional(Type.Array(anyValue(), { maxItems: 20 })),
    deprecated: Type.Optional(Type.Boolean()),
  },
  {
    title: "EventTypeInput",
    examples: [{ description: "An order was paid.", schema: { type: "object", required: ["order_id"] } }],
  },
);

export const eventTypeSchema = closed(
  {
    name: Type.String(),
    tenant_id: Type.String(),
    description: Type.String(),
    schema: anyValue({ description: "JSON Schema 2020-12, or null." }),
    examples: Type.Array(anyValue()),
    deprecated: Type.Boolean(),
    created_at: instant("When it was registered."),
    updated_at: instant("When it was changed last."),
  },
  { title: "EventType" },
);
export const eventTypeListSchema = listOf(eventTypeSchema, "EventTypeList");

export const eventTypeQuery = closed({ tenant_id: Type.Optional(tenantId) });
export const eventTypeListQuery = closed({ ...pageProperties, tenant_id: Type.Optional(tenantId) });

const tenantRateLimit = closed({
  requests_per_minute: Type.Integer({ minimum: 1, maximum: 10_000_000 }),
  burst: Type.Integer({ minimum: 1, maximum: 10_000_000 }),
});

const workerPool = Type.String({
  pattern: "^[a-z0-9][a-z0-9_-]{0,62}$",
  description: "The workers that serve this tenant; `default` unless given others.",
});

export const tenantInputSchema = closed(
  {
    name: Type.Optional(line(255)),
    rate_limit: Type.Optional(nullable(tenantRateLimit)),
    webhooks_max: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 }))),
    worker_pool: Type.Optional(workerPool),
  },
  {
    title: "TenantInput",
    examples: [{ name: "Acme", rate_limit: { requests_per_minute: 1_000, burst: 100 } }],
  },
);

export const tenantSchema = closed(
  {
    id: tenantId,
    name: Type.String(),
    rate_limit: nullable(tenantRateLimit),
    webhooks_max: nullable(Type.Integer()),
    worker_pool: workerPool,
    created_at: instant("When it was created."),
    updated_at: instant("When it was changed last."),
  },
  { title: "Tenant" },
);
export const tenantListSchema = listOf(tenantSchema, "TenantList");

const roles = ["admin", "manage", "publish", "read"] as const;

export const apiKeyInputSchema = closed(
  {
    name: line(255, { minLength: 1, examples: ["shop backend"] }),
    role: oneOf(roles, {
      description:
        "`publish` only publishes, `read` only reads, `manage` does both and changes webhooks; `admin` is for all tenants.",
    }),
    tenant_id: Type.Optional(nullable(tenantId)),
    expires_at: Type.Optional(nullable(instant("Refused from then on; absent or null for never."))),
  },
  { title: "ApiKeyInput" },
);

const apiKeyProperties = {
  id: id("the key"),
  name: Type.String(),
  role: oneOf(roles),
  tenant_id: nullable(Type.String()),
  hint: Type.String({ description: "The last four characters." }),
  created_at: instant("When it was made."),
  expires_at: nullable(instant("Refused from then on.")),
};

const apiKeySchema = closed(apiKeyProperties, { title: "ApiKey" });
export const apiKeyCreatedSchema = closed(
  { ...apiKeyProperties, key: Type.String({ description: "Shown here and never again." }) },
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
    details: Type.Optional(
      Type.Array(Type.String(), { description: "What to do, where a person has to do something." }),
    ),
  },
  { title: "Readiness" },
);
