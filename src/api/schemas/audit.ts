import { auditActorKinds } from "../../core/scope.ts";
import { auditFilters } from "../../core/fields/filters.ts";
import {
  closed,
  instant,
  nullable,
  oneOf,
  id,
  pageProperties,
  queryOf,
  searchOf,
} from "./building-blocks.ts";
import { Type } from "./type.ts";

export const auditQuerySchema = closed({ ...pageProperties, ...queryOf(auditFilters) });

const text = (description: string) => nullable(Type.String({ description }));

const auditEntrySchema = closed(
  {
    id: id("the row"),
    at: instant("When it happened."),
    tenant_id: text("Whose it is; null for what belongs to the whole deployment."),
    actor: closed(
      {
        kind: oneOf(auditActorKinds, {
          description: "`anonymous` holds no key, such as a receiver that permits deliveries.",
        }),
        key_id: text(
          "Of the API key, or that which the session was opened with; `admin` is that of the settings.",
        ),
        key_name: text("As it was then."),
        role: text("Of the key; `session` in the portal."),
        session_id: text("Of a session of the dashboard or of the portal."),
        reference: text("On whose behalf a session was opened."),
      },
      { title: "AuditActor" },
    ),
    action: Type.String({ examples: ["webhook.update"] }),
    route: Type.String({ examples: ["PATCH /v1/webhooks/{id}"] }),
    target: closed({ type: Type.String(), id: text("Its id, or its name.") }, { title: "AuditTarget" }),
    changes: Type.Unsafe<Record<string, unknown>>({
      type: "object",
      description:
        "By field: `to` is what was asked for, `from` what was there. Secrets are `…`; what is longer than 1,024 characters is told by its length.",
      additionalProperties: {
        type: "object",
        title: "AuditChange",
        properties: { from: {}, to: {} },
        required: ["to"],
        additionalProperties: false,
      },
    }),
    address: text("Of the caller's connection."),
    request_id: text("Of the call."),
  },
  { title: "AuditEntry" },
);

export const auditListSchema = searchOf(auditEntrySchema, "AuditLog");
