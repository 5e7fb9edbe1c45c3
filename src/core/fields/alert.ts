/** What callers may set of rules of alerts, and ask of alerts. */
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
  mutedUntil: nullable(timeOrDate({ doc: "Nobody is told of it until then." })),
  muteReason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "For those who wonder." })),
} satisfies Fields;

export const alertRuleFields = {
  title: line({ lengthMin: 1, lengthMax: 100, doc: "The first words of a message; the name unless given." }),
  description: text({ lengthMax: 1_000, doc: "For people." }),
  severity: choice(alertSeverities, { doc: "`warning` unless given." }),
  metric: choice(alertMetrics, {
    doc: "What is compared: `failure_rate` (0 to 1), `attempts`, `exhausted`, `duration_ms_p95` and `published` within the window; `waiting`, `dead_letters` and `places_used` (0 to 1) of the whole installation, for administrators.",
  }),
  comparison: choice(alertComparisons, { doc: "`above` unless given." }),
  threshold: decimal({ min: 0, max: 1e12, doc: "What it is compared with." }),
  windowSeconds: integer({ min: 60, max: 86_400, doc: "How far back it looks; 300 unless given." }),
  forSeconds: integer({ ...seconds, doc: "How long it has to hold before it fires; 0 unless given." }),
  keepFiringForSeconds: integer({
    ...seconds,
    doc: "How long it must not hold before it is over; 60 unless given.",
  }),
  attemptsMin: integer({
    ...{ min: 0, max: 1_000_000 },
    doc: "With fewer attempts in the window `failure_rate` and `duration_ms_p95` say nothing; 1 unless given.",
  }),
  webhookId: nullable(id({ doc: "Only attempts of this webhook." })),
  eventType: nullable(eventTypeField),
  enabled: flag({ doc: "False to keep it without looking." }),
  ...muteFields,
} satisfies Fields;
export type AlertRuleInput = InputOf<typeof alertRuleFields>;

export const alertMuteFields = {
  until: required(timeOrDate({ doc: "Nobody is told of it until then; a time that is over ends the mute." })),
  reason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "For those who wonder." })),
} satisfies Fields;
export type AlertMuteInput = InputOf<typeof alertMuteFields>;

export const alertFilters = {
  states: list(choice(alertStates), { countMin: 0, countMax: 10, api: "state", doc: "May be repeated." }),
  rule: alertRuleNameField,
  tenantId: tenantIdField,
} satisfies Fields;

export const alertRuleFilters = { tenantId: tenantIdField } satisfies Fields;
