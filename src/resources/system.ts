import { apiKeyRoles } from "./api-key.ts";
import { closed, instant, nullableSchema, oneOf, type Static, textOrNull, Type } from "./schema.ts";

/** Dashboard login. */

export const loginSchema = closed(
  {
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: "An API key." })),
    code: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: "A one-time code, in place of `key`." }),
    ),
  },
  { title: "Login", examples: [{ key: "phk_…" }] },
);
export type Login = Static<typeof loginSchema>;

export const sessionSchema = closed(
  {
    role: oneOf([...apiKeyRoles, "session"]),
    tenant_id: textOrNull("Null if the session has access to all tenants."),
    expires_at: instant("Expiry, regardless of activity."),
    idle_until: instant("Expiry without activity."),
    version: Type.String("Version of the server."),
    dev: Type.Boolean("Whether the server runs in development mode."),
  },
  { title: "Session" },
);
export type SessionView = Static<typeof sessionSchema>;

export const loginCodeSchema = closed(
  {
    code: Type.String("Logs in once, with the rights of the API key that requested it."),
    path: Type.String("Path of the dashboard with the code, relative to the address of the server."),
    expires_at: instant("Expiry of the code."),
  },
  { title: "LoginCode" },
);

const available = Type.Boolean();

/** State of the process that responds. */
export const systemSchema = closed(
  {
    version: Type.String(),
    roles: Type.Array(oneOf(["api", "scheduler", "worker", "gateway"])),
    started_at: instant("When this process started."),
    uptime_seconds: Type.Integer(),
    ready: Type.Boolean("As in `/readyz`."),
    reasons: Type.Array(Type.String()),
    warnings: Type.Array(Type.String(), {
      description: "Configured features that require a role that no process of the deployment runs.",
    }),
    worker_pools: nullableSchema(
      Type.Array(closed({ name: Type.String(), workers: Type.Integer("Number of live workers.") }), {
        description: "Null while the store cannot report it.",
      }),
    ),
    store: closed({
      kind: oneOf(["sqlite", "postgresql"]),
      schema_version: nullableSchema(Type.Integer("Number of the latest migration.")),
      size_bytes: nullableSchema(Type.Integer("Data and indexes on disk, without transaction logs.")),
    }),
    queue: closed({ kind: oneOf(["store", "rabbitmq"]), available }),
    shared_state: closed({ kind: oneOf(["process", "redis"]), available }),
    retention: closed({
      payload_days: Type.Number(),
      history_days: Type.Number(),
      audit_days: Type.Number(),
    }),
    settings: Type.Array(
      closed({
        name: Type.String(),
        value: Type.String("As text; secrets are masked."),
        source: nullableSchema(oneOf(["flag", "environment", "file", "option", "default"])),
        from: textOrNull("The flag, variable or file that set it."),
      }),
    ),
  },
  { title: "System" },
);

export const indexSchema = closed(
  {
    service: Type.Literal("posthorn"),
    documentation: Type.String("URL of the human-readable API documentation."),
    openapi: Type.String("URL of the machine-readable OpenAPI document."),
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
