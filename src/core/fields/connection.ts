/** Input for connections: which source leads to which webhook, and by which rules. */
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
      doc: "How long after the first message another one counts as its duplicate.",
    }),
  ),
  includeFields: nullable(
    list(pointer, {
      countMax: 16,
      isSet: true,
      doc: "JSON pointers into the body: only these members are compared. A message without one of them counts as new.",
    }),
  ),
  excludeFields: nullable(
    list(pointer, {
      countMax: 16,
      isSet: true,
      doc: "Members excluded from the comparison, such as a sending time. Cannot be combined with `include_fields`.",
    }),
  ),
} satisfies Fields;

const deduplicateNotes = {
  doc: "Ignores duplicates from senders that provide no id: the body, or parts of it, identify a message.",
};

/** For both creating and changing a connection. */
const connectionRules = {
  delayMs: integer({
    min: 0,
    max: 86_400_000,
    default: 0,
    doc: "`store_and_forward`: messages wait at least this long before they are sent. Ignored in `pass_through`, because the sender is waiting.",
  }),
  deduplicate: nullable(
    object(deduplicateFields, { ...deduplicateNotes, title: "ConnectionDeduplicateInput" }),
  ),
  retryDelaysMs: nullable(
    list(integer({ min: 0, max: scheduleDelayMsMax }), {
      countMax: scheduleAttemptsMax - 1,
      doc: "`store_and_forward`: delays between attempts instead of the webhook's schedule, for messages received from now on.",
      examples: [[5_000, 60_000, 600_000]],
    }),
  ),
  allowChain: flag({
    doc: "Allow a webhook whose URL is an address of this deployment. Otherwise it is refused, because messages could loop.",
  }),
} satisfies Fields;

export const connectionFields = {
  sourceId: required(onlyForCreation(id({ doc: "Source of the messages." }))),
  webhookId: required(onlyForCreation(id({ doc: "Webhook that receives the messages." }))),
  name: line({ lengthMax: 255, doc: "Display name." }),
  required: flag({
    doc: "`pass_through`: the sender gets a success only if this webhook accepted. Defaults to true.",
  }),
  paused: flag({
    doc: "`store_and_forward`: holds messages in order until the connection is resumed. `pass_through`: senders are asked to retry later.",
  }),
  filter: nullable(
    document({
      bytesMax: 16_384,
      doc: "Only matching messages pass: `body`, `headers`, `query` and `path` with `$eq`, `$neq`, `$in`, `$nin`, `$gt`, `$gte`, `$lt`, `$lte`, `$startsWith`, `$endsWith`, `$exist`, `$and`, `$or`, `$not`.",
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
  sourceId: id({ doc: "Source of the messages." }),
  webhookId: id({ doc: "Webhook that receives the messages." }),
  name: connectionFields.name,
  required: connectionFields.required,
  paused: flag(),
  pausedAt: nullable(time({ doc: "Since when the connection has been holding messages." })),
  heldCount: integer({
    doc: "Messages that wait for this connection, counted up to 10,000. While it is paused they are held; after it is resumed they are sent, oldest first, and new messages wait behind them.",
    min: 0,
    max: 10_000,
  }),
  releasingSince: nullable(
    time({
      doc: "When the connection was resumed, while held messages are still being sent; otherwise null.",
    }),
  ),
  filter: connectionFields.filter,
  ...connectionRules,
  deduplicate: nullable(object(deduplicateFields, { ...deduplicateNotes, title: "ConnectionDeduplicate" })),
  createdAt: time({ doc: "When the connection was created." }),
  updatedAt: time({ doc: "When the connection was last changed." }),
} satisfies Fields;

export const connectionFilters = {
  sourceId: id({ doc: "Only connections of this source." }),
  webhookId: id({ doc: "Only connections to this webhook." }),
  tenantId: tenantIdField,
} satisfies Fields;
