import { alertComparisons, alertMetrics, alertSeverities, alertStates } from "../features/alerts/alert.ts";
import {
  choice,
  decimal,
  type Fields,
  flag,
  id,
  type InputOf,
  integer,
  line,
  list,
  nullable,
  required,
  text,
  timeOrDate,
  word,
} from "./field.ts";
import { eventTypeField, tenantIdField } from "./names.ts";
import { defineResource, type OptionTable } from "./resource.ts";
import {
  closed,
  idParam,
  idSchema,
  instant,
  instantOrNull,
  listOf,
  nullableSchema,
  oneOf,
  queryOf,
  schemaOf,
  schemaOfField,
  textOrNull,
  Type,
} from "./schema.ts";

/** Input for alert rules and alerts. */

export const alertRuleNameField = word({
  lengthMax: 63,
  pattern: "^[a-z0-9][a-z0-9-]*$",
  rule: "a name of a-z, 0-9 and -, beginning with a letter or digit",
  doc: "Name of the rule.",
  examples: ["checkout-fails"],
});

const seconds = { min: 0, max: 86_400 };
const muteFields = {
  mutedUntil: nullable(timeOrDate({ doc: "Notifications are muted until this time." })),
  muteReason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "Human-readable reason." })),
} satisfies Fields;

export const alertRuleFields = {
  title: line({ lengthMin: 1, lengthMax: 100, doc: "Title of notifications; defaults to the name." }),
  description: text({ lengthMax: 1_000, doc: "Free-form description." }),
  severity: choice(alertSeverities, { doc: "Defaults to `warning`." }),
  metric: choice(alertMetrics, {
    doc: "Metric to compare: `failure_rate` (0 to 1), `attempts`, `exhausted`, `duration_ms_p95` and `published` within the window; `waiting`, `dead_letters` and `request_slots_used` (0 to 1) of the whole installation, for administrators.",
  }),
  comparison: choice(alertComparisons, { doc: "Defaults to `above`." }),
  threshold: decimal({ min: 0, max: 1e12, doc: "Threshold that the metric is compared with." }),
  windowSeconds: integer({ min: 60, max: 86_400, doc: "Length of the window in seconds; defaults to 300." }),
  forSeconds: integer({
    ...seconds,
    doc: "How long the rule must hold before the alert fires; defaults to 0.",
  }),
  keepFiringForSeconds: integer({
    ...seconds,
    doc: "How long the rule must not hold before the alert resolves; defaults to 60.",
  }),
  attemptsMin: integer({
    min: 0,
    max: 1_000_000,
    doc: "Minimum number of attempts in the window; with fewer, `failure_rate` and `duration_ms_p95` are not evaluated. Defaults to 1.",
  }),
  webhookId: nullable(id({ doc: "Only attempts of this webhook." })),
  eventType: nullable(eventTypeField),
  enabled: flag({ doc: "If false, the rule is kept but not evaluated." }),
  ...muteFields,
} satisfies Fields;
export type AlertRuleInput = InputOf<typeof alertRuleFields>;

export const alertRuleOptions: OptionTable<typeof alertRuleFields> = {
  metric: "--metric <metric>",
  threshold: "--threshold <number>",
  comparison: "--comparison <word>",
  severity: "--severity <severity>",
  windowSeconds: "--window-seconds <n>",
  forSeconds: "--for-seconds <n>",
  keepFiringForSeconds: "--keep-firing-for-seconds <n>",
  attemptsMin: "--attempts-min <n>",
  webhookId: "--webhook <id>",
  eventType: "--event-type <name>",
  title: "--title <text>",
  description: "--description <text>",
  enabled: "--enabled <boolean>",
};

export const alertMuteFields = {
  until: required(
    timeOrDate({ doc: "Notifications are muted until this time; a time in the past ends the mute." }),
  ),
  reason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "Human-readable reason." })),
} satisfies Fields;
export type AlertMuteInput = InputOf<typeof alertMuteFields>;

export const alertFilters = {
  states: list(choice(alertStates), { countMin: 0, countMax: 10, api: "state", doc: "May be repeated." }),
  rule: alertRuleNameField,
  tenantId: tenantIdField,
} satisfies Fields;

export const alertFilterOptions: OptionTable<typeof alertFilters> = {
  states: ["--state <states>", "states such as firing, comma-separated"],
  rule: "--rule <name>",
  tenantId: ["--tenant <id>", "tenant (administrators)"],
};

const alertRuleFilters = { tenantId: tenantIdField } satisfies Fields;

export const alertRuleQuery = closed(queryOf(alertRuleFilters) as Record<string, never>);
export const alertMuteSchema = schemaOf(alertMuteFields, { title: "AlertMuteInput" });

const severity = oneOf(alertSeverities);
const muteProperties = {
  muted_until: instantOrNull("Notifications are muted until this time."),
  mute_reason: nullableSchema(Type.String()),
};

export const alertRuleSchema = closed(
  {
    name: Type.String(),
    tenant_id: textOrNull("Owner of the rule; null for the operator."),
    is_default: Type.Boolean(
      "Whether the rule is built in. Some fields of a built-in rule can be changed; DELETE resets it.",
    ),
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
        description: "What to check and what to do.",
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

export const alertRuleResource = defineResource({
  noun: "alert rule",
  title: "AlertRule",
  path: "/v1/alert-rules",
  tag: "Alerts",
  key: ["name", schemaOfField(alertRuleNameField)],
  isPerTenant: true,
  input: alertRuleFields,
  shown: {},
  create: {
    title: "AlertRuleInput",
    examples: [{ metric: "failure_rate", threshold: 0.2, for_seconds: 300, attempts_min: 20 }],
  },
  schemas: { one: alertRuleSchema, list: alertRuleListSchema },
});

export const alertPreviewSchema = closed(
  {
    from: instant("Start of the range: seven days ago."),
    to: instant("Now."),
    fired: Type.Integer("Number of times it would have fired."),
    firing_seconds: Type.Integer("Total time in the firing state."),
    points: Type.Array(
      closed(
        {
          at: instant("Time of the evaluation."),
          value: nullableSchema(Type.Number("Null if there is no value.")),
          firing: Type.Boolean(),
        },
        { title: "AlertPreviewPoint" },
      ),
      { description: "One value per hour; for the last two days, one every five minutes or less often." },
    ),
  },
  { title: "AlertPreview" },
);

export const alertSchema = closed(
  {
    id: idSchema("the alert"),
    rule: Type.String("Name of the rule."),
    rule_tenant_id: textOrNull("Owner of the rule; null for the operator."),
    title: Type.String(),
    severity,
    state: oneOf(alertStates, {
      description:
        "`pending` until the condition has held long enough, then `firing`, and `resolved` at the end.",
    }),
    tenant_id: textOrNull("The affected tenant; null for the whole deployment."),
    webhook_id: textOrNull("The affected webhook, if any."),
    subject: Type.String("The subject of the alert: one of the subjects that the rule evaluates."),
    summary: Type.String("One-sentence summary."),
    value: Type.Number(),
    threshold: Type.Number(),
    since: instant("When the condition became true."),
    fired_at: instantOrNull("When the alert fired."),
    resolved_at: instantOrNull("When the alert was resolved."),
    told_at: instantOrNull("When the channels were notified."),
    inhibited_by: textOrNull("The rule whose alert explains this one; no notification is sent."),
    ...muteProperties,
    runbook: nullableSchema(Type.String()),
  },
  { title: "Alert" },
);

export const alertResource = defineResource({
  noun: "alert",
  title: "Alert",
  path: "/v1/alerts",
  tag: "Alerts",
  key: idParam("the alert"),
  input: alertMuteFields,
  shown: {},
  filters: alertFilters,
  schemas: { one: alertSchema, list: listOf(alertSchema, "AlertList") },
});
