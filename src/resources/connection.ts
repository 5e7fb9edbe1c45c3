import { scheduleAttemptsMax, scheduleDelayMsMax } from "../domain/retry-schedule.ts";
import {
  anyJson,
  document,
  type Fields,
  flag,
  headers,
  id,
  type InputOf,
  integer,
  line,
  list,
  nullable,
  object,
  onlyForCreation,
  required,
  type StoredOf,
  time,
  without,
} from "./field.ts";
import { pointerField, tenantIdField } from "./names.ts";
import { type ColumnTable, defineResource, type OptionTable } from "./resource.ts";
import {
  closed,
  idParam,
  idSchema,
  instant,
  instantOrNull,
  nullableSchema,
  oneOf,
  schemaOf,
  textOrNull,
  Type,
} from "./schema.ts";

/** Connections: which source forwards to which webhook, and the rules that apply. */

const deduplicateFields = {
  windowMs: required(
    integer({
      min: 1_000,
      max: 31 * 86_400_000,
      doc: "How long after the first message a matching message counts as its duplicate.",
    }),
  ),
  includeFields: nullable(
    list(pointerField, {
      countMax: 16,
      isSet: true,
      doc: "JSON pointers into the body: only these fields are compared. A message that lacks one of them counts as new.",
    }),
  ),
  excludeFields: nullable(
    list(pointerField, {
      countMax: 16,
      isSet: true,
      doc: "Fields excluded from the comparison, such as a timestamp. Cannot be combined with `include_fields`.",
    }),
  ),
} satisfies Fields;

const deduplicateNotes = {
  doc: "Ignores duplicates from senders that provide no id: the body, or parts of it, identify a message.",
};

/** Used for both creating and changing a connection. */
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
      doc: "`store_and_forward`: delays between attempts instead of the webhook's schedule, for messages received after the change.",
      examples: [[5_000, 60_000, 600_000]],
    }),
  ),
  allowChain: flag({
    doc: "Allow a webhook whose URL is an address of this deployment. By default, such a webhook is refused, because messages could loop.",
  }),
} satisfies Fields;

export const connectionFields = {
  sourceId: required(onlyForCreation(id({ doc: "Source of the messages." }))),
  webhookId: required(onlyForCreation(id({ doc: "Webhook that receives the messages." }))),
  name: line({ lengthMax: 255, doc: "Display name." }),
  required: flag({
    doc: "`pass_through`: the sender gets a success only if this webhook accepted the message. Defaults to true.",
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
/** Both ends are fixed at creation. */
export const connectionChangeFields = without(connectionFields, ["sourceId", "webhookId"]);
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
  pausedAt: nullable(time({ doc: "When the connection started to hold messages." })),
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

/**
 * Connects a source to the webhook that receives its messages. If `pausedAt` is set, it has held messages since that
 * time.
 */
export type Connection = StoredOf<Omit<typeof connectionShown, "paused" | "heldCount">>;

const connectionFilters = {
  sourceId: id({ doc: "Only connections of this source." }),
  webhookId: id({ doc: "Only connections to this webhook." }),
  tenantId: tenantIdField,
} satisfies Fields;

export const connectionResource = defineResource({
  noun: "connection",
  title: "Connection",
  path: "/v1/connections",
  tag: "Gateway",
  key: idParam("the connection"),
  input: connectionFields,
  shown: connectionShown,
  filters: connectionFilters,
  create: { title: "ConnectionCreate" },
  update: { title: "ConnectionUpdate" },
});

export const connectionOptions: OptionTable<typeof connectionFields> = {
  name: "--name <text>",
  filter: ["--filter <json>", 'forward only matching messages, for example {"body":{"action":"opened"}}'],
  deduplicate: ["--deduplicate <json>", 'drop duplicates, for example {"window_ms":600000}'],
  delayMs: "--delay <ms>",
  allowChain: ["--allow-chain", "allow forwarding to an address of this deployment"],
};

export const connectionColumns: ColumnTable<typeof connectionShown> = {
  ID: "id",
  SOURCE: "sourceId",
  WEBHOOK: "webhookId",
  STATE: (row) => (row["paused"] === true ? "paused" : "active"),
};

// Input for testing a filter on messages before it is saved.

export const evaluatedMessageFields = {
  headers: headers({
    countMax: 200,
    valueLengthMax: 16_384,
    doc: "Names may be in any case; filters match them in lower case.",
  }),
  query: headers({ countMax: 200, valueLengthMax: 8_192, doc: "Parameters, keyed by name." }),
  path: line({ lengthMax: 8_192, doc: "The path after the address of the source, such as `/orders`." }),
  body: nullable(
    anyJson({
      doc: "Any JSON value. A string is treated as the raw body and parsed if it is valid JSON; if it is not, filters cannot access its content. If omitted, there is no body.",
    }),
  ),
} satisfies Fields;

export const filterEvaluationFields = {
  filter: required({ ...connectionFields.filter, isNullable: false }),
  requestId: id({ doc: "Evaluates this request from the log." }),
  sourceId: id({ doc: "Evaluates the newest requests of this source." }),
  last: integer({
    min: 1,
    max: 1_000,
    default: 100,
    doc: "Number of requests to evaluate; only with `source_id`.",
  }),
  message: object(evaluatedMessageFields, {
    title: "EvaluatedMessage",
    doc: "Evaluates this message. Specify exactly one of `request_id`, `source_id` and `message`.",
  }),
} satisfies Fields;
export type FilterEvaluationInput = InputOf<typeof filterEvaluationFields>;

export const filterEvaluationInputSchema = schemaOf(filterEvaluationFields, {
  title: "FilterEvaluationInput",
  examples: [{ filter: { body: { action: "opened" } }, message: { body: { action: "closed" } } }],
});

const whetherOne = nullableSchema(
  Type.Boolean("Null if it depends on a value that the log does not contain."),
);
const traceStepSchema = closed(
  {
    path: Type.String("Path of the condition in the filter, as in the request log; shortened."),
    operator: Type.String(
      "The operator, such as `$eq`, which is the default for a plain value; `$or` and `$not` follow their conditions.",
    ),
    expected: textOrNull("The expected value as JSON, shortened; null for `$or` and `$not`."),
    actual: textOrNull("The actual value as JSON, shortened; null if absent or unknown."),
    result: whetherOne,
    unknown: nullableSchema(
      oneOf(["masked", "not_kept"], {
        description:
          "Why the value is not available. `masked`: it is a credential, which is not stored in the log. `not_kept`: it is no longer stored, for example because the body expired. Null if the value is available.",
      }),
    ),
  },
  { title: "FilterTraceStep" },
);
const sampleSchema = closed(
  {
    request_id: idSchema("the request"),
    received_at: instant("When the request arrived."),
    event_type: textOrNull("The mapped event type."),
    original_type: textOrNull("The event type as sent."),
    rule: textOrNull("The rule that refuses the request; null if no rule does, or if the result is unknown."),
  },
  { title: "EvaluatedRequest" },
);
const samplesOf = (description: string) =>
  Type.Array(sampleSchema, { description: `${description}, newest first; up to 5.` });

export const filterEvaluationSchema = closed(
  {
    matches: Type.Optional(whetherOne),
    rule: Type.Optional(textOrNull("The first rule that refuses the message; null if no rule does.")),
    trace: Type.Optional(
      Type.Array(traceStepSchema, { description: "Every condition, in the order of the filter." }),
    ),
    examined: Type.Optional(Type.Integer("Requests for which the outcome of the filter is known.")),
    matched: Type.Optional(Type.Integer("Requests that would pass.")),
    not_matched: Type.Optional(Type.Integer("Requests that would be filtered out.")),
    not_examined: Type.Optional(
      Type.Integer(
        "Requests whose outcome depends on data that is not kept: an expired body, or a credential.",
      ),
    ),
    not_routed: Type.Optional(
      Type.Integer("Requests that filters do not apply to: rejected, duplicates, address verifications."),
    ),
    samples: Type.Optional(
      closed(
        {
          matched: samplesOf("Some requests that would pass"),
          not_matched: samplesOf("Some requests that would be filtered out"),
          not_examined: samplesOf("Some requests that cannot be evaluated"),
        },
        { title: "EvaluatedRequests" },
      ),
    ),
    complete: Type.Optional(
      Type.Boolean("False if the call reached its limit before it had examined all requests."),
    ),
    searched_to: Type.Optional(
      instantOrNull("When the oldest examined request arrived; null if no request was examined."),
    ),
  },
  {
    title: "FilterEvaluation",
    description:
      "A single message has `matches`, `rule` and `trace`; several requests have the other fields.",
  },
);
