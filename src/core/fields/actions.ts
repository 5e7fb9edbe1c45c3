/** What callers may ask of a webhook, of its deliveries, and of many dead letters. */
import { forceMsMax } from "../circuit-breaker.ts";
import { priorities } from "../delivery.ts";
import { failureCategories } from "../outcome.ts";
import {
  document,
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
} from "./field.ts";
import type { Fields, Group, InputOf } from "./field.ts";
import { eventTypeField } from "./names.ts";
import { secretField } from "./webhook.ts";

export const circuitActionFields = {
  action: required(choice(["reset", "force_open", "force_close"])),
  durationSeconds: integer({
    min: 1,
    max: forceMsMax / 1_000,
    default: 3_600,
    doc: "How long it is forced, with the two that force.",
  }),
} satisfies Fields;

export const rotateFields = {
  mode: choice(["graceful", "revoke"], {
    default: "graceful",
    doc: "`graceful` signs with both for a while; `revoke` drops the old one at once.",
  }),
  overlapSeconds: integer({ min: 1, max: 7 * 86_400, default: 86_400, doc: "How long both are used." }),
  secret: nullable(secretField),
  force: flag({ doc: "Also while the overlap of an earlier rotation runs." }),
} satisfies Fields;

export const pauseFields = {
  until: nullable(timeOrDate({ doc: "When the pause ends by itself; without it `resume` ends it." })),
  reason: nullable(
    line({ lengthMin: 1, lengthMax: 255, doc: "For those who wonder; shown with the pause." }),
  ),
} satisfies Fields;

export const testFields = {
  eventType: nullable(eventTypeField),
  data: nullable(
    document({
      bytesMax: 64 * 1_024,
      doc: "Sent instead of the first example of the type; not held to its schema.",
    }),
  ),
} satisfies Fields;

/** What a receiver may report; the first three are those that the receiver kit tells apart. */
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
      doc: "What happened. Leave secrets out: the owner's webhooks receive it.",
    }),
  ),
  messageId: nullable(line({ lengthMin: 1, lengthMax: 255, doc: "`Webhook-ID` of the message." })),
  occurredAt: nullable(timeOrDate({ doc: "When it happened." })),
} satisfies Fields;

export const replayFields = {
  webhookIds: nullable(
    list(id({ doc: "Id of a webhook." }), {
      countMax: 1_000,
      doc: "Deliver to these only; without it to all that now subscribe to the type.",
    }),
  ),
} satisfies Fields;

export const deliveryRetryFields = {
  priority: nullable(choice(priorities, { doc: "Of the delivery from now on; unchanged if omitted." })),
  closeCircuit: flag({
    default: false,
    doc: "Close the circuit of the webhook first if it is open; otherwise the delivery waits for it.",
  }),
} satisfies Fields;

/** Of bulk work that sends. */
export const closeCircuits = flag({
  default: false,
  doc: "Close each open circuit once before sending to its webhook; otherwise deliveries wait behind it.",
});

const filter: Group = { api: "filter" };
const operationRate: Group = { api: "rate_limit", title: "OperationRate" };
const filterEntriesMax = 250;

const perSecond = { min: 0.1, max: 1_000, doc: "How many to start a second." };

/** How fast bulk work that sends goes. */
export const requestsPerSecond = nullable(decimal({ ...perSecond, default: 10, within: operationRate }));
/** How fast bulk work goes that only changes rows. */
export const endingsPerSecond = nullable(
  decimal({ ...perSecond, default: 100, within: { api: "rate_limit", title: "EndingRate" } }),
);
/** Another rate for what is under way. */
export const newRate = decimal({ ...perSecond, within: { api: "rate_limit", title: "NewRate" } });

const dryRun = flag({ doc: "Only count." });

/** WDS-112. */
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
  from: nullable(timeOrDate({ within: filter, doc: "Made at or after this time." })),
  to: nullable(timeOrDate({ within: filter, doc: "Made before this time." })),
  requestsPerSecond,
  priority: choice(priorities, { default: "normal" }),
  startAt: nullable(
    timeOrDate({
      doc: "When it begins, at most 30 days ahead; at once when left out, or past. It retries what was a dead letter when it was asked for.",
    }),
  ),
  closeCircuits,
  dryRun,
} satisfies Fields;
export type RetryBatchCommand = InputOf<typeof retryBatchFields>;

/** What waits is delivered anyway. */
const statesRecoverable = ["exhausted", "skipped", "cancelled", "success"] as const;

/** C-46. */
export const recoverFields = {
  since: required(timeOrDate({ doc: "Deliveries made at or after this time." })),
  until: nullable(timeOrDate({ doc: "Deliveries made before this time." })),
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
      doc: "What somebody typed.",
      examples: ["https://example.com/hooks"],
    }),
  ),
} satisfies Fields;

export const receiverCheckFields = {
  allowValid: flag({ default: false, doc: "Also send valid messages, which the receiver may process." }),
} satisfies Fields;
