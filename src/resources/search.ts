import { portalCapabilities } from "../domain/scope.ts";
import { apiKeyRoles } from "./api-key.ts";
import { line } from "./field.ts";
import { closed, idSchema, nullableSchema, oneOf, schemaOfField, textOrNull, Type } from "./schema.ts";

/** One search text that applies to several kinds of resources. */
export const searchTextField = line({
  lengthMin: 1,
  lengthMax: 255,
  doc: "An id of an event, a delivery, a webhook or an operation; an idempotency key; or the beginning of a webhook's URL or description.",
  examples: ["order-4711-completed"],
});

export const searchQuerySchema = closed({ q: Type.Unsafe<string>(schemaOfField(searchTextField)) });

export const searchHitsSchema = closed(
  {
    data: Type.Array(
      closed(
        {
          type: oneOf(["webhook", "event", "delivery", "operation", "source", "connection"]),
          id: idSchema("the match"),
          tenant_id: nullableSchema(Type.String()),
          title: Type.String(
            "URL of a webhook, type of an event or of a delivery's event, kind of an operation, name of a source or " +
              "connection; a connection without a name has the URL of its webhook.",
          ),
          matched: oneOf(["id", "idempotency_key", "url", "name", "description"]),
        },
        { title: "SearchHit" },
      ),
      { maxItems: 20, description: "Exact matches first." },
    ),
  },
  { title: "SearchHits" },
);

export const capabilities = ["read", "publish", "manage", "admin"] as const;

export const callerSchema = closed(
  {
    key_id: Type.String(
      "Id of the API key, or of the portal session; `admin` for the administrator key in the settings.",
    ),
    role: oneOf([...apiKeyRoles, "session"]),
    tenant_id: textOrNull("Null for an administrator, who sees all tenants."),
    capabilities: Type.Array(oneOf([...capabilities, ...portalCapabilities]), {
      description:
        "Roles as in `x-roles` of the routes; for a portal session, capabilities as in `x-capability`.",
    }),
    server_version: Type.String(),
  },
  { title: "Caller" },
);
