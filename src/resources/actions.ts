/** Input of actions on a webhook, on its deliveries, and on many dead letters. */
import { forceMsMax } from "../domain/circuit-breaker.ts";
import { priorities } from "../domain/delivery.ts";
import { failureCategories } from "../domain/classify.ts";
import {
  choice,
  decimal,
  document,
  type Fields,
  flag,
  type Group,
  id,
  type InputOf,
  integer,
  line,
  list,
  nullable,
  required,
  text,
  timeOrDate,
} from "./field.ts";
import { eventTypeField, secretField } from "./names.ts";

export const circuitActionFields = {
  action: required(choice(["reset", "force_open", "force_close"])),
  durationSeconds: integer({
    min: 1,
    max: forceMsMax / 1_000,
    default: 3_600,
    doc: "How long the state is forced; only for the two force actions.",
  }),
} satisfies Fields;

export const rotateFields = {
  mode: choice(["graceful", "revoke"], {
    default: "graceful",
    doc: "`graceful` signs with both secrets for a while; `revoke` stops using the old secret immediately.",
  }),
  overlapSeconds: integer({
    min: 1,
    max: 7 * 86_400,
    default: 86_400,
    doc: "How long both secrets are used.",
  }),
  secret: nullable(secretField),
  force: flag({ doc: "Rotate even while the overlap of an earlier rotation is running." }),
} satisfies Fields;

export const pauseFields = {
  until: nullable(
    timeOrDate({ doc: "When the pause ends automatically. If omitted, only `resume` ends it." }),
  ),
  reason: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "Reason shown with the pause." })),
} satisfies Fields;

export const testFields = {
  eventType: nullable(eventTypeField),
  data: nullable(
    document({
      bytesMax: 64 * 1_024,
      doc: "Sent instead of the first example of the type; not validated against its schema.",
    }),
  ),
} satisfies Fields;

/** Incidents that a receiver may report. The receiver kit distinguishes the first three. */
const incidentKinds = [
  "bad_signature",
  "stale_timestamp",
  "key_reused",
  "unexpected_source",
  "leaked_secret",
  "other",
] as const;

export const incidentFields = {
  kind: required(choice(incidentKinds)),
  detail: required(
    text({
      lengthMin: 1,
      lengthMax: 2_000,
      doc: "What happened. Do not include secrets: the owner's webhooks receive this text.",
    }),
  ),
  messageId: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "`Webhook-ID` of the message." })),
  occurredAt: nullable(timeOrDate({ doc: "When it happened." })),
} satisfies Fields;

export const replayFields = {
  webhookIds: nullable(
    list(id({ doc: "Id of a webhook." }), {
      countMax: 1_000,
      doc: "Deliver only to these webhooks; if omitted, to all webhooks that currently subscribe to the type.",
    }),
  ),
} satisfies Fields;

export const deliveryRetryFields = {
  priority: nullable(choice(priorities, { doc: "New priority of the delivery; unchanged if omitted." })),
  closeCircuit: flag({
    default: false,
    doc: "If true, closes the webhook's circuit first if it is open. If false, the delivery waits for the circuit to close.",
  }),
} satisfies Fields;

/** Used by bulk operations that send requests. */
export const closeCircuits = flag({
  default: false,
  doc: "If true, closes each open circuit once before sending to its webhook. If false, deliveries wait for the circuits to close.",
});

const filter: Group = { api: "filter" };
const operationRate: Group = { api: "rate_limit", title: "OperationRate" };
const filterEntriesMax = 250;

const perSecond = { min: 0.1, max: 1_000, doc: "How many deliveries to start per second." };

/** Rate of bulk operations that send requests. */
export const requestsPerSecond = nullable(decimal({ ...perSecond, default: 10, within: operationRate }));
/** Rate of bulk operations that only change rows. */
export const endingsPerSecond = nullable(
  decimal({ ...perSecond, default: 100, within: { api: "rate_limit", title: "EndingRate" } }),
);
/** The new rate of a running operation. */
export const newRate = decimal({ ...perSecond, within: { api: "rate_limit", title: "NewRate" } });

const dryRun = flag({ doc: "Only count the deliveries; nothing is changed." });

/** Input for retrying many dead letters, as defined by WDS-112. */
export const retryBatchFields = {
  webhookIds: nullable(list(id({ doc: "Id of a webhook." }), { countMax: filterEntriesMax, within: filter })),
  eventTypes: nullable(list(eventTypeField, { countMax: filterEntriesMax, within: filter })),
  categories: nullable(
    list(choice(failureCategories), {
      countMax: failureCategories.length,
      within: filter,
      api: "failure_categories",
    }),
  ),
  from: nullable(timeOrDate({ within: filter, doc: "Created at or after this time." })),
  to: nullable(timeOrDate({ within: filter, doc: "Created before this time." })),
  requestsPerSecond,
  priority: choice(priorities, { default: "normal" }),
  startAt: nullable(
    timeOrDate({
      doc: "When the operation begins, up to 30 days ahead; immediately if omitted or in the past. It retries the deliveries that are dead letters at the time of this request.",
    }),
  ),
  closeCircuits,
  dryRun,
} satisfies Fields;
export type RetryBatchCommand = InputOf<typeof retryBatchFields>;

/** Waiting deliveries are not included, because they are sent anyway. */
const statesRecoverable = ["exhausted", "skipped", "cancelled", "success"] as const;

export const recoverFields = {
  since: required(timeOrDate({ doc: "Deliveries created at or after this time." })),
  until: nullable(timeOrDate({ doc: "Deliveries created before this time." })),
  states: nullable(
    list(choice(statesRecoverable), {
      countMax: statesRecoverable.length,
      api: "statuses",
      doc: "Defaults to exhausted and skipped.",
    }),
  ),
  requestsPerSecond,
  closeCircuits,
  dryRun,
} satisfies Fields;

export const urlCheckFields = {
  url: required(
    line({
      lengthMin: 1,
      lengthMax: 2_048,
      doc: "Free text.",
      examples: ["https://example.com/hooks"],
    }),
  ),
} satisfies Fields;

export const receiverCheckFields = {
  allowValid: flag({ default: false, doc: "Also send valid messages, which the receiver may process." }),
} satisfies Fields;
