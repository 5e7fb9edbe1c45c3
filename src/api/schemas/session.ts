/** Logging in to the dashboard. */
import { apiKeyRoles } from "../../core/fields/api-key.ts";
import { closed, instant, nullable, oneOf } from "./building-blocks.ts";
import { Type, type Static } from "./type.ts";

export const loginSchema = closed(
  {
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: "An API key." })),
    code: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: "Instead of it: a one-time code." }),
    ),
  },
  { title: "Login", examples: [{ key: "phk_…" }] },
);
export type Login = Static<typeof loginSchema>;

export const sessionSchema = closed(
  {
    role: oneOf([...apiKeyRoles, "session"]),
    tenant_id: nullable(Type.String({ description: "Null sees every tenant." })),
    expires_at: instant("When it ends, whatever is done."),
    idle_until: instant("When it ends unless somebody does something."),
    version: Type.String({ description: "Of the server." }),
    dev: Type.Boolean({ description: "The server runs in development mode." }),
  },
  { title: "Session" },
);
export type SessionView = Static<typeof sessionSchema>;

export const loginCodeSchema = closed(
  {
    code: Type.String({ description: "Logs in once, as the API key that asked for it." }),
    path: Type.String({
      description: "Of the dashboard, with the code; relative to the address of the server.",
    }),
    expires_at: instant("Until then."),
  },
  { title: "LoginCode" },
);
