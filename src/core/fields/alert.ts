/** Input for alert rules and alerts. */
import { alertStates } from "../alerts/alert-record.ts";
import { alertComparisons, alertMetrics, alertSeverities } from "../alerts/alert-rule.ts";
import {
  choice,
  decimal,
  flag,
  id,
  integer,
  line,
  list,
  nullable,
  required,
  text,
  timeOrDate,
  word,
} from "./field.ts";
import type { Fields, InputOf } from "./field.ts";
import { eventTypeField, tenantIdField } from "./names.ts";

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
  muteReason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "Reason for readers." })),
} satisfies Fields;

export const alertRuleFields = {
  title: line({ lengthMin: 1, lengthMax: 100, doc: "Title of notifications; defaults to the name." }),
  description: text({ lengthMax: 1_000, doc: "Free-form description." }),
  severity: choice(alertSeverities, { doc: "Defaults to `warning`." }),
  metric: choice(alertMetrics, {
    doc: "Metric to compare: `failure_rate` (0 to 1), `attempts`, `exhausted`, `duration_ms_p95` and `published` within the window; `waiting`, `dead_letters` and `places_used` (0 to 1) of the whole installation, for administrators.",
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
    doc: "With fewer attempts in the window, `failure_rate` and `duration_ms_p95` are not evaluated; defaults to 1.",
  }),
  webhookId: nullable(id({ doc: "Only attempts of this webhook." })),
  eventType: nullable(eventTypeField),
  enabled: flag({ doc: "False keeps the rule without evaluating it." }),
  ...muteFields,
} satisfies Fields;
export type AlertRuleInput = InputOf<typeof alertRuleFields>;

export const alertMuteFields = {
  until: required(
    timeOrDate({ doc: "Notifications are muted until this time; a time in the past ends the mute." }),
  ),
  reason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "Reason for readers." })),
} satisfies Fields;
export type AlertMuteInput = InputOf<typeof alertMuteFields>;

export const alertFilters = {
  states: list(choice(alertStates), { countMin: 0, countMax: 10, api: "state", doc: "May be repeated." }),
  rule: alertRuleNameField,
  tenantId: tenantIdField,
} satisfies Fields;

export const alertRuleFilters = { tenantId: tenantIdField } satisfies Fields;
