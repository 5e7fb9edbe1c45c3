import { alertStates } from "../../core/alerts/alert-record.ts";
import { alertComparisons, alertMetrics, alertSeverities } from "../../core/alerts/alert-rule.ts";
import {
  alertFilters,
  alertMuteFields,
  alertRuleFields,
  alertRuleFilters,
  alertRuleNameField,
} from "../../core/fields/alert.ts";
import { closed, id, instant, listingQuery, listOf, nullable, oneOf, queryOf } from "./building-blocks.ts";
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
  muted_until: nullable(instant("Nobody is told of it until then.")),
  mute_reason: nullable(Type.String()),
};

export const alertRuleSchema = closed(
  {
    name: Type.String(),
    tenant_id: nullable(Type.String({ description: "Whose rule; null for the operator's." })),
    is_default: Type.Boolean({
      description: "Posthorn brings it: some of it can be changed, and DELETE undoes that.",
    }),
    title: Type.String(),
    description: Type.String(),
    severity,
    metric: nullable(oneOf(alertMetrics, { description: "Null where Posthorn brings the rule." })),
    comparison: oneOf(alertComparisons),
    threshold: Type.Number(),
    window_seconds: Type.Integer(),
    for_seconds: Type.Integer(),
    keep_firing_for_seconds: Type.Integer(),
    attempts_min: Type.Integer(),
    webhook_id: nullable(Type.String()),
    event_type: nullable(Type.String()),
    audience: oneOf(["operator", "tenant"], { description: "Whose channels hear of it." }),
    enabled: Type.Boolean(),
    ...muteProperties,
    runbook: nullable(
      Type.String({
        description: "What to look at and to do.",
        examples: ["docs/runbooks/circuit-opened.md"],
      }),
    ),
  },
  { title: "AlertRule" },
);

export const alertRuleListSchema = closed(
  { data: Type.Array(alertRuleSchema, { description: "Those that Posthorn brings first." }) },
  { title: "AlertRuleList" },
);

export const alertPreviewSchema = closed(
  {
    from: instant("Where it begins: seven days ago."),
    to: instant("Now."),
    fired: Type.Integer({ description: "How often it would have fired." }),
    firing_seconds: Type.Integer({ description: "For how long altogether." }),
    points: Type.Array(
      closed(
        {
          at: instant("When it was held against the rule."),
          value: nullable(Type.Number({ description: "Null where there was nothing to compare." })),
          firing: Type.Boolean(),
        },
        { title: "AlertPreviewPoint" },
      ),
      { description: "Every hour; of the last two days every five minutes or less often." },
    ),
  },
  { title: "AlertPreview" },
);

export const alertSchema = closed(
  {
    id: id("the alert"),
    rule: Type.String({ description: "Name of its rule." }),
    rule_tenant_id: nullable(Type.String({ description: "Whose rule; null for the operator's." })),
    title: Type.String(),
    severity,
    state: oneOf(alertStates, {
      description: "`pending` until it has held for long enough, `firing`, `resolved` when it is over.",
    }),
    tenant_id: nullable(Type.String({ description: "Whom it is about; null for the installation." })),
    webhook_id: nullable(Type.String({ description: "What it is about." })),
    subject: Type.String({ description: "What it is about, among all that the rule looks at." }),
    summary: Type.String({ description: "One sentence." }),
    value: Type.Number(),
    threshold: Type.Number(),
    since: instant("When it began to hold."),
    fired_at: nullable(instant("When it fired.")),
    resolved_at: nullable(instant("When it was over.")),
    told_at: nullable(instant("When a message about it went to the channels.")),
    inhibited_by: nullable(
      Type.String({ description: "The rule whose alert explains this one: nobody is told." }),
    ),
    ...muteProperties,
    runbook: nullable(Type.String()),
  },
  { title: "Alert" },
);

export const alertListSchema = listOf(alertSchema, "AlertList");
