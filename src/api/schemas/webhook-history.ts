import { auditActorKinds } from "../../core/scope.ts";
import { webhookHistoryKinds } from "../../core/webhook-history.ts";
import { closed, instant, listOf, nullable, oneOf, pageProperties } from "./building-blocks.ts";
import { Type } from "./type.ts";

export const historyQuerySchema = closed(pageProperties);

const by = Type.Unsafe<Record<string, unknown> | null>({
  ...closed(
    {
      kind: oneOf(auditActorKinds),
      key_name: nullable(Type.String({ description: "Of the API key, as it was then." })),
      reference: nullable(Type.String({ description: "On whose behalf a session was opened." })),
    },
    { title: "HistoryActor" },
  ),
  type: ["object", "null"],
  description:
    "Who did it; null for Posthorn itself, by the rules of the profile or what a receiver answered.",
});

const changes = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  description:
    "By field of the webhook: what it was, where there was something before, and what it is. Of secrets and credentials neither is kept.",
  additionalProperties: {
    type: "object",
    title: "WebhookFieldChange",
    properties: { from: {}, to: {} },
    additionalProperties: false,
  },
});

const timelineEntrySchema = closed(
  {
    at: instant("When it happened."),
    kind: oneOf(webhookHistoryKinds, {
      description:
        "`changed` is its configuration, credentials included; `secret_rotated` its signing key alone. `verified`: its receiver has shown that it wants the events. A circuit is told once when it opens and once when it closes, not of each probe.",
    }),
    by,
    reason: nullable(Type.String({ description: "What was said about it, or the rule that did it." })),
    revision: nullable(
      Type.Integer({ description: "Of the configuration that it made; null where that stayed as it was." }),
    ),
    changed: Type.Array(Type.String(), { description: "Fields that changed." }),
  },
  { title: "WebhookTimelineEntry" },
);

export const timelineSchema = listOf(timelineEntrySchema, "WebhookTimeline");

const revisionSchema = closed(
  {
    revision: Type.Integer({ minimum: 1 }),
    at: instant("When it was made."),
    by,
    changes,
  },
  { title: "WebhookRevision" },
);

export const revisionListSchema = listOf(revisionSchema, "WebhookRevisionList");
