import { auditActorKinds } from "../domain/scope.ts";
import { type Fields, line, timeOrDate } from "./field.ts";
import { tenantIdField } from "./names.ts";
import type { OptionTable } from "./resource.ts";
import {
  closed,
  idSchema,
  instant,
  oneOf,
  pageProperties,
  queryOf,
  searchOf,
  textOrNull,
  Type,
} from "./schema.ts";

const auditText = (doc: string) => line({ lengthMin: 1, lengthMax: 255, doc });

export const auditFilters = {
  actor: auditText(
    "Id or name of an API key, id of a dashboard or portal session, or the `reference` of a portal session.",
  ),
  action: auditText("An action such as `webhook.update`, or a prefix such as `webhook`."),
  target: auditText("Id of the changed resource; for event types, the name."),
  from: timeOrDate({ doc: "At or after this time." }),
  to: timeOrDate({ doc: "Before this time." }),
  tenantId: tenantIdField,
} satisfies Fields;

export const auditFilterOptions: OptionTable<typeof auditFilters> = {
  actor: "--actor <id-or-name>",
  action: "--action <action>",
  target: "--target <id>",
};

export const auditQuerySchema = closed({ ...pageProperties, ...queryOf(auditFilters) });

export const auditEntrySchema = closed(
  {
    id: idSchema("the row"),
    at: instant("Time of the change."),
    tenant_id: textOrNull("Tenant of the change; null if it concerns the whole deployment."),
    actor: closed(
      {
        kind: oneOf(auditActorKinds, {
          description:
            "`anonymous` calls have no key, for example those of a receiver that permits deliveries.",
        }),
        key_id: textOrNull(
          "Id of the API key, or of the key that opened the session; `admin` is the key from the settings.",
        ),
        key_name: textOrNull("Name of the key when the change was made."),
        role: textOrNull("Role of the key; `session` in the portal."),
        session_id: textOrNull("Id of the dashboard or portal session."),
        reference: textOrNull("The person for whom the session was opened."),
      },
      { title: "AuditActor" },
    ),
    action: Type.String({ examples: ["webhook.update"] }),
    route: Type.String({ examples: ["PATCH /v1/webhooks/{id}"] }),
    target: closed({ type: Type.String(), id: textOrNull("Id or name.") }, { title: "AuditTarget" }),
    changes: Type.Unsafe<Record<string, unknown>>({
      type: "object",
      description:
        "Keyed by field: `to` is the requested value, `from` the previous one. Secrets are shown as `…`; values longer than 1,024 characters are replaced by their length.",
      additionalProperties: {
        type: "object",
        title: "AuditChange",
        properties: { from: {}, to: {} },
        required: ["to"],
        additionalProperties: false,
      },
    }),
    address: textOrNull("Address of the caller's connection."),
    request_id: textOrNull("Id of the request."),
  },
  { title: "AuditEntry" },
);

export const auditListSchema = searchOf(auditEntrySchema, "AuditLog");
