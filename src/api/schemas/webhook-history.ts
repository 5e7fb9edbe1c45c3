import { auditActorKinds } from "../../core/scope.ts";
import { webhookHistoryKinds } from "../../core/webhook-history.ts";
import { closed, instant, listOf, nullableSchema, oneOf, pageProperties } from "./building-blocks.ts";
import { Type } from "./type.ts";

export const historyQuerySchema = closed(pageProperties);

const by = Type.Unsafe<Record<string, unknown> | null>({
  ...closed(
    {
      kind: oneOf(auditActorKinds),
      key_name: nullableSchema(Type.String({ description: "Name of the API key at that time." })),
      reference: nullableSchema(Type.String({ description: "The person for whom the session was opened." })),
    },
    { title: "HistoryActor" },
  ),
  type: ["object", "null"],
  description:
    "Who made the change; null if Posthorn did, because of the profile or a response of the receiver.",
});

const changes = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  description:
    "By field of the webhook: the previous value, if any, and the new one. Secrets and credentials are not recorded.",
  additionalProperties: {
    type: "object",
    title: "WebhookFieldChange",
    properties: { from: {}, to: {} },
    additionalProperties: false,
  },
});

const timelineEntrySchema = closed(
  {
    at: instant("Time of the change."),
    kind: oneOf(webhookHistoryKinds, {
      description:
        "`changed`: the configuration, including credentials; `secret_rotated`: only the signing key. `verified`: the receiver confirmed that it wants the events. Circuit changes are recorded when the circuit opens and closes, not for each probe.",
    }),
    by,
    reason: nullableSchema(Type.String({ description: "The stated reason, or the rule that caused the change." })),
    revision: nullableSchema(
      Type.Integer({ description: "The resulting revision; null if the configuration did not change." }),
    ),
    changed: Type.Array(Type.String(), { description: "Fields that changed." }),
  },
  { title: "WebhookTimelineEntry" },
);

export const timelineSchema = listOf(timelineEntrySchema, "WebhookTimeline");

const revisionSchema = closed(
  {
    revision: Type.Integer({ minimum: 1 }),
    at: instant("When the revision was created."),
    by,
    changes,
  },
  { title: "WebhookRevision" },
);

export const revisionListSchema = listOf(revisionSchema, "WebhookRevisionList");
