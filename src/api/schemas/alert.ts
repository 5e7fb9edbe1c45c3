import { alertStates } from "../../core/alerts/alert-record.ts";
import { alertComparisons, alertMetrics, alertSeverities } from "../../core/alerts/alert-rule.ts";
import {
  alertFilters,
  alertMuteFields,
  alertRuleFields,
  alertRuleFilters,
  alertRuleNameField,
} from "../../core/fields/alert.ts";
import { closed, idSchema, instant, listingQuery, listOf, nullableSchema, oneOf, queryOf } from "./building-blocks.ts";
import { schemaOf, schemaOfField } from "./field-schema.ts";
import { Type } from "./type.ts";

export const alertRuleQuery = closed(queryOf(alertRuleFilters) as Record<string, never>);
export const alertRuleParams = closed({ name: Type.Unsafe<string>(schemaOfField(alertRuleNameField)) });
export const alertRuleInputSchema = schemaOf(alertRuleFields, {
  title: "AlertRuleInput",
  examples: [{ metric: "failure_rate", threshold: 0.2, for_seconds: 300, attempts_min: 20 }],
});
export const alertMuteSchema = schemaOf(alertMuteFields, { title: "AlertMuteInput" });
export const alertQuerySchema = listingQuery(alertFilters);

const severity = oneOf(alertSeverities);
const muteProperties = {
  muted_until: nullableSchema(instant("Notifications are muted until this time.")),
  mute_reason: nullableSchema(Type.String()),
};

export const alertRuleSchema = closed(
  {
    name: Type.String(),
    tenant_id: nullableSchema(Type.String({ description: "Owner of the rule; null for the operator." })),
    is_default: Type.Boolean({
      description: "Whether the rule is built in. Part of a built-in rule can be changed; DELETE resets it.",
    }),
    title: Type.String(),
    description: Type.String(),
    severity,
    metric: nullableSchema(oneOf(alertMetrics, { description: "Null for built-in rules." })),
    comparison: oneOf(alertComparisons),
    threshold: Type.Number(),
    window_seconds: Type.Integer(),
    for_seconds: Type.Integer(),
    keep_firing_for_seconds: Type.Integer(),
    attempts_min: Type.Integer(),
    webhook_id: nullableSchema(Type.String()),
    event_type: nullableSchema(Type.String()),
    audience: oneOf(["operator", "tenant"], { description: "Whose channels are notified." }),
    enabled: Type.Boolean(),
    ...muteProperties,
    runbook: nullableSchema(
      Type.String({
        description: "What to check and to do.",
        examples: ["docs/runbooks/circuit-opened.md"],
      }),
    ),
  },
  { title: "AlertRule" },
);

export const alertRuleListSchema = closed(
  { data: Type.Array(alertRuleSchema, { description: "Built-in rules first." }) },
  { title: "AlertRuleList" },
);

export const alertPreviewSchema = closed(
  {
    from: instant("Start of the range: seven days ago."),
    to: instant("Now."),
    fired: Type.Integer({ description: "Number of times it would have fired." }),
    firing_seconds: Type.Integer({ description: "Total time in the firing state." }),
    points: Type.Array(
      closed(
        {
          at: instant("Time of the evaluation."),
          value: nullableSchema(Type.Number({ description: "Null without a value." })),
          firing: Type.Boolean(),
        },
        { title: "AlertPreviewPoint" },
      ),
      { description: "One point per hour; for the last two days, one every five minutes or less often." },
    ),
  },
  { title: "AlertPreview" },
);

export const alertSchema = closed(
  {
    id: idSchema("the alert"),
    rule: Type.String({ description: "Name of the rule." }),
    rule_tenant_id: nullableSchema(Type.String({ description: "Owner of the rule; null for the operator." })),
    title: Type.String(),
    severity,
    state: oneOf(alertStates, {
      description:
        "`pending` until the condition has held long enough, then `firing`, and `resolved` at the end.",
    }),
    tenant_id: nullableSchema(Type.String({ description: "The affected tenant; null for the whole deployment." })),
    webhook_id: nullableSchema(Type.String({ description: "The affected webhook, if any." })),
    subject: Type.String({ description: "What the alert is about, among the subjects of the rule." }),
    summary: Type.String({ description: "One-sentence summary." }),
    value: Type.Number(),
    threshold: Type.Number(),
    since: instant("Since when the condition holds."),
    fired_at: nullableSchema(instant("When the alert fired.")),
    resolved_at: nullableSchema(instant("When the alert was resolved.")),
    told_at: nullableSchema(instant("When the channels were notified.")),
    inhibited_by: nullableSchema(
      Type.String({ description: "The rule whose alert explains this one; no notification is sent." }),
    ),
    ...muteProperties,
    runbook: nullableSchema(Type.String()),
  },
  { title: "Alert" },
);

export const alertListSchema = listOf(alertSchema, "AlertList");
