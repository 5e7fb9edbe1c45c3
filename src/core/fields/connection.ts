/** Which source leads to which webhook, and by which rules. */
import { scheduleAttemptsMax, scheduleDelayMsMax } from "../retry-schedule.ts";
import {
  document,
  flag,
  id,
  integer,
  line,
  list,
  nullable,
  object,
  onlyForCreation,
  required,
  time,
} from "./field.ts";
import type { Fields, InputOf } from "./field.ts";
import { pointer } from "./gateway.ts";
import { tenantIdField } from "./names.ts";

const deduplicateFields = {
  windowMs: required(
    integer({
      min: 1_000,
      max: 31 * 86_400_000,
      doc: "How long after the first one another counts as the same.",
    }),
  ),
  includeFields: nullable(
    list(pointer, {
      countMax: 16,
      isSet: true,
      doc: "JSON pointers into the body: these members alone are compared. A message without one of them counts as new.",
    }),
  ),
  excludeFields: nullable(
    list(pointer, {
      countMax: 16,
      isSet: true,
      doc: "These members are left out of the comparison, such as a time of sending. Not together with `include_fields`.",
    }),
  ),
} satisfies Fields;

const deduplicateNotes = {
  doc: "Ignores what came before, for senders that give no id: the body, or parts of it, decide.",
};

/** Both for what is made and for what is changed. */
const connectionRules = {
  delayMs: integer({
    min: 0,
    max: 86_400_000,
    default: 0,
    doc: "`store_and_forward`: messages are sent no sooner. Passed through they are not delayed, because the sender waits.",
  }),
  deduplicate: nullable(
    object(deduplicateFields, { ...deduplicateNotes, title: "ConnectionDeduplicateInput" }),
  ),
  retryDelaysMs: nullable(
    list(integer({ min: 0, max: scheduleDelayMsMax }), {
      countMax: scheduleAttemptsMax - 1,
      doc: "`store_and_forward`: delays between requests, instead of the schedule of the webhook, for messages that come from now on.",
      examples: [[5_000, 60_000, 600_000]],
    }),
  ),
  allowChain: flag({
    doc: "May lead to an address of this deployment. Otherwise such a webhook is refused, because messages could go in circles.",
  }),
} satisfies Fields;

export const connectionFields = {
  sourceId: required(onlyForCreation(id({ doc: "Whose messages." }))),
  webhookId: required(onlyForCreation(id({ doc: "Who gets them." }))),
  name: line({ lengthMax: 255, doc: "For people." }),
  required: flag({
    doc: "`pass_through`: the sender is told of success only when this one accepted. True when left out.",
  }),
  paused: flag({
    doc: "Holds what comes in `store_and_forward`, in order, until it goes on; in `pass_through` senders are told to come back.",
  }),
  filter: nullable(
    document({
      bytesMax: 16_384,
      doc: "Lets through what matches: `body`, `headers`, `query` and `path` with `$eq`, `$neq`, `$in`, `$nin`, `$gt`, `$gte`, `$lt`, `$lte`, `$startsWith`, `$endsWith`, `$exist`, `$and`, `$or`, `$not`.",
      examples: [{ body: { action: { $in: ["opened", "closed"] } } }],
    }),
  ),
  ...connectionRules,
} satisfies Fields;
export const connectionChangeFields = {
  name: connectionFields.name,
  required: connectionFields.required,
  paused: connectionFields.paused,
  filter: connectionFields.filter,
  ...connectionRules,
} satisfies Fields;
export type ConnectionInput = InputOf<typeof connectionFields>;
export type ConnectionChange = InputOf<typeof connectionChangeFields>;

export const connectionShown = {
  id: id({ doc: "Id of the connection." }),
  tenantId: tenantIdField,
  sourceId: id({ doc: "Whose messages." }),
  webhookId: id({ doc: "Who gets them." }),
  name: connectionFields.name,
  required: connectionFields.required,
  paused: flag(),
  pausedAt: nullable(time({ doc: "Since when it holds what comes." })),
  heldCount: integer({
    doc: "Messages that wait for this connection, counted up to 10,000. While it is paused they are held; after it was resumed they are sent, oldest first, and new messages wait behind them.",
    min: 0,
    max: 10_000,
  }),
  releasingSince: nullable(
    time({ doc: "When it was resumed, while messages that it held are still being sent; otherwise null." }),
  ),
  filter: connectionFields.filter,
  ...connectionRules,
  deduplicate: nullable(object(deduplicateFields, { ...deduplicateNotes, title: "ConnectionDeduplicate" })),
  createdAt: time({ doc: "When it was made." }),
  updatedAt: time({ doc: "When it was changed last." }),
} satisfies Fields;

export const connectionFilters = {
  sourceId: id({ doc: "Only of this source." }),
  webhookId: id({ doc: "Only to this webhook." }),
  tenantId: tenantIdField,
} satisfies Fields;
