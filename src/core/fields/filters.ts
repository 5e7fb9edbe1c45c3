/** What listings can be narrowed to. */
import { circuitStates } from "../circuit-breaker.ts";
import { webhookHealthStates } from "../endpoint-health.ts";
import { failureCategories } from "../outcome.ts";
import { webhookStatuses } from "../webhook.ts";
import { choice, flag, id, line, list, timeOrDate } from "./field.ts";
import type { Fields } from "./field.ts";
import { eventTypeField, tenantIdField } from "./names.ts";

const repeated = { countMin: 0, countMax: 100, doc: "May be repeated." };

/** All but `created` begin with the webhooks that need somebody; those without failures or a backlog come at the end. */
const webhookOrders = ["created", "last_failure", "failures", "failure_rate", "backlog"] as const;
export type WebhookOrder = (typeof webhookOrders)[number];

export const webhookFilters = {
  active: flag(),
  eventType: eventTypeField,
  statuses: list(choice(webhookStatuses), { ...repeated, api: "status" }),
  circuits: list(choice(circuitStates), {
    ...repeated,
    api: "circuit",
    doc: "State of the circuit breaker as it is now. May be repeated.",
  }),
  health: list(choice(webhookHealthStates), {
    ...repeated,
    doc:
      "One state per webhook: `suspended`, `disabled` or `unverified` by its status, else `paused` by hand, else `circuit_open` " +
      "while its circuit is not closed, else `failing` when its last three attempts or most of the last eight failed, else " +
      "`healthy`. May be repeated.",
  }),
  failing: flag({
    doc: "True for those of which an attempt failed since the last one that was accepted, false for the others.",
  }),
  paused: flag({ doc: "True for those that somebody paused, false for the others." }),
  text: line({
    lengthMin: 1,
    lengthMax: 255,
    api: "q",
    doc: "Text in the URL or the description; capital letters do not count.",
  }),
  sort: choice(webhookOrders, {
    default: "created",
    doc:
      "`created`: newest first. `last_failure`: what failed last at the top, what never failed at the end. `failures`: most " +
      "failed attempts of the last 24 hours first. `failure_rate`: of the last 24 hours; among equal rates most failed " +
      "attempts first. `backlog`: most waiting deliveries first, each webhook counted to 10,000; among those with more, most " +
      "attempts of the last 24 hours first.",
  }),
  tenantId: tenantIdField,
} satisfies Fields;

export const deadLetterFilters = {
  webhookIds: list(id(), { ...repeated, api: "webhook_id" }),
  eventTypes: list(eventTypeField, { ...repeated, api: "event_type" }),
  categories: list(choice(failureCategories), { ...repeated, api: "failure_category" }),
  from: timeOrDate({ doc: "Only deliveries made at or after this time." }),
  to: timeOrDate({ doc: "Only deliveries made before this time." }),
  tenantId: tenantIdField,
} satisfies Fields;

const auditText = (doc: string) => line({ lengthMin: 1, lengthMax: 255, doc });

export const auditFilters = {
  actor: auditText(
    "Id or name of an API key, id of a session of the dashboard or of the portal, or the `reference` of the latter.",
  ),
  action: auditText("Such as `webhook.update`, or its beginning: `webhook`."),
  target: auditText("Id of what was changed; the name of an event type."),
  from: timeOrDate({ doc: "At or after this time." }),
  to: timeOrDate({ doc: "Before this time." }),
  tenantId: tenantIdField,
} satisfies Fields;

export const eventTypeFilters = { tenantId: tenantIdField } satisfies Fields;
