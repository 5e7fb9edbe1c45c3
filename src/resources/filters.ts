/** Filters of lists. */
import { circuitStates } from "../domain/circuit-breaker.ts";
import { webhookHealthStates } from "../domain/endpoint-health.ts";
import { failureCategories } from "../domain/outcome.ts";
import { webhookStatuses } from "../domain/webhook.ts";
import { choice, type Fields, flag, id, line, list, timeOrDate } from "./field.ts";
import { eventTypeField, tenantIdField } from "./names.ts";

const repeated = { countMin: 0, countMax: 100, doc: "May be repeated." };

/**
 * All orders except `created` begin with the webhooks that need attention; those without failures or a backlog come
 * last.
 */
const webhookOrders = ["created", "last_failure", "failures", "failure_rate", "backlog"] as const;
export type WebhookOrder = (typeof webhookOrders)[number];

export const webhookFilters = {
  active: flag(),
  eventType: eventTypeField,
  statuses: list(choice(webhookStatuses), { ...repeated, api: "status" }),
  circuits: list(choice(circuitStates), {
    ...repeated,
    api: "circuit",
    doc: "Current state of the circuit breaker. May be repeated.",
  }),
  health: list(choice(webhookHealthStates), {
    ...repeated,
    doc:
      "One state per webhook: `suspended`, `disabled` or `unverified` by its status; otherwise `paused` if paused by hand; otherwise `circuit_open` " +
      "while its circuit is not closed; otherwise `failing` if the last three attempts or most of the last eight failed; otherwise " +
      "`healthy`. May be repeated.",
  }),
  failing: flag({
    doc: "True for webhooks with a failed attempt since the last accepted one, false for all others.",
  }),
  paused: flag({ doc: "True for webhooks that were paused by hand, false for all others." }),
  text: line({
    lengthMin: 1,
    lengthMax: 255,
    api: "q",
    doc: "Text in the URL or the description; case-insensitive.",
  }),
  sort: choice(webhookOrders, {
    default: "created",
    doc:
      "`created`: newest first. `last_failure`: most recent failure first, webhooks without failures last. `failures`: most " +
      "failed attempts of the last 24 hours first. `failure_rate`: of the last 24 hours; equal rates by number of failed " +
      "attempts. `backlog`: most waiting deliveries first, counted up to 10,000 per webhook; webhooks beyond that by number of " +
      "attempts of the last 24 hours.",
  }),
  tenantId: tenantIdField,
} satisfies Fields;

export const deadLetterFilters = {
  webhookIds: list(id(), { ...repeated, api: "webhook_id" }),
  eventTypes: list(eventTypeField, { ...repeated, api: "event_type" }),
  categories: list(choice(failureCategories), { ...repeated, api: "failure_category" }),
  from: timeOrDate({ doc: "Only deliveries created at or after this time." }),
  to: timeOrDate({ doc: "Only deliveries created before this time." }),
  tenantId: tenantIdField,
} satisfies Fields;

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

export const eventTypeFilters = { tenantId: tenantIdField } satisfies Fields;
