/** Dashboard login. */
import { apiKeyRoles } from "../../core/fields/api-key.ts";
import { closed, instant, nullableSchema, oneOf } from "./building-blocks.ts";
import { Type, type Static } from "./type.ts";

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
    tenant_id: nullableSchema(Type.String({ description: "Null if the session sees all tenants." })),
    expires_at: instant("Expiry, regardless of activity."),
    idle_until: instant("Expiry without activity."),
    version: Type.String({ description: "Version of the server." }),
    dev: Type.Boolean({ description: "The server runs in development mode." }),
  },
  { title: "Session" },
);
export type SessionView = Static<typeof sessionSchema>;

export const loginCodeSchema = closed(
  {
    code: Type.String({ description: "Logs in once, with the rights of the API key that requested it." }),
    path: Type.String({
      description: "Path of the dashboard with the code, relative to the address of the server.",
    }),
    expires_at: instant("Expiry of the code."),
  },
  { title: "LoginCode" },
);
