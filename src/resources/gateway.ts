import { scheduleAttemptsMax, scheduleDelayMsMax } from "../domain/retry-schedule.ts";
import { type GatewayOutcome, gatewayOutcomes, recentRequestsMax } from "../features/gateway/relayed.ts";
import { gatewayModes, inactiveAnswers, sourceDefaults } from "../features/gateway/source.ts";
import { sourceProbes } from "../domain/source-probe.ts";
import {
  anyJson,
  choice,
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
  requiredToCreate,
  secret,
  text,
  time,
  timeOrDate,
  word,
} from "./field.ts";
import { eventTypeField, rateLimitFields, tenantIdField } from "./names.ts";

/** Sources, connections and requests of the gateway: input fields and shown fields. */

const headerName = word({
  lengthMax: 128,
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
  rule: "the name of a header",
  examples: ["X-GitHub-Event"],
});

const pointer = word({
  lengthMax: 255,
  pattern: "^(/[^/\\u0000-\\u001f]*)+$",
  rule: "a JSON pointer such as /data/id",
  examples: ["/data/id"],
});

const mediaType = word({
  lengthMax: 128,
  pattern: "^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9_-]+=[A-Za-z0-9_.-]+)*$",
  rule: "a media type such as application/json",
  examples: ["application/json"],
});

const eventTypeSourceFields = {
  fixed: { ...eventTypeField, doc: "A fixed type for every message." },
  header: { ...headerName, doc: "Read from this header." },
  pointer: { ...pointer, doc: "Read from the body, at this JSON pointer." },
  query: line({ lengthMin: 1, lengthMax: 128, doc: "Read from this query parameter." }),
  path: flag({ doc: "Read from `/_webhooks/{party}/…/{event_type}`." }),
  allowUnsigned: flag({
    default: false,
    doc: "Use the value even if the sender's signature does not cover it. Anyone who captured a message can then change it.",
  }),
} satisfies Fields;

const customResponseFields = {
  status: required(integer({ min: 200, max: 299, doc: "Neither a redirect nor an error." })),
  contentType: nullable(mediaType),
  body: nullable(text({ lengthMax: 4_096 })),
} satisfies Fields;

const originPattern = word({
  lengthMax: 253,
  pattern: "^(\\*|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)$",
  rule: "a DNS name or *",
  examples: ["events.example.com"],
});

const handshakeFields = {
  allowedOrigins: required(
    list(originPattern, {
      countMin: 0,
      countMax: 100,
      isSet: true,
      doc: "Names that senders state in `WebHook-Request-Origin`; `*` allows all. They are not authenticated: every message is still verified.",
    }),
  ),
  ratePerMinuteMax: nullable(
    integer({
      min: 1,
      max: 1_000_000,
      doc: "Maximum granted rate in requests per minute; the rate limit of the source if null.",
    }),
  ),
} satisfies Fields;

const handshakeNotes = {
  doc: "Answers CloudEvents senders that use OPTIONS to ask whether they may deliver. Without it, OPTIONS gets 405.",
};

export const sourceFields = {
  name: requiredToCreate(line({ lengthMin: 1, lengthMax: 255, doc: "Display name.", examples: ["GitHub"] })),
  tenantId: onlyForCreation(tenantIdField),
  description: text({ lengthMax: 1_024, doc: "Free-form description." }),
  verification: requiredToCreate(
    secret(
      document({
        bytesMax: 32_768,
        doc: "How messages are verified: `type` names a provider such as `github`, a scheme such as `hmac`, or `none`, which must be given explicitly. Secrets are encrypted and never shown again. A change replaces all of them; give two during a rotation.",
        examples: [{ type: "github", secrets: ["a long random text"] }],
      }),
      ["type"],
    ),
  ),
  party: nullable(
    word({
      lengthMax: 63,
      pattern: "^[a-z0-9][a-z0-9_-]*$",
      rule: "a name of a-z, 0-9, _ and -, beginning with a letter or digit",
      doc: "Also accepts messages at `/_webhooks/{party}/…`. The name is unique in a deployment.",
      examples: ["github"],
    }),
  ),
  mode: choice(gatewayModes, {
    default: "pass_through",
    doc: "`pass_through` answers after the destination accepted; `store_and_forward` answers once the message is stored, and requires an acknowledgement of the service description.",
  }),
  eventType: nullable(
    object(eventTypeSourceFields, {
      title: "EventTypeSourceInput",
      doc: "Where to find the event type; give one of these. If null, the provider's usual place.",
    }),
  ),
  keyPointers: nullable(
    list(pointer, {
      countMax: 8,
      isSet: true,
      doc: "Members of the body that together identify a message, for senders that provide no id.",
    }),
  ),
  forwardHeaders: list(headerName, {
    countMin: 0,
    countMax: 32,
    isSet: true,
    doc: "Headers to forward in addition to the provider's usual ones. Credentials and connection headers are never forwarded.",
  }),
  forwardPath: flag({ doc: "Appends the rest of path and query to the webhook's URL." }),
  passSignatures: flag({
    doc: "Forwards the sender's `Signature`, `Signature-Input` and `Content-Digest` (RFC 9421), unless the webhook adds such a signature itself.",
  }),
  allowPut: flag({ doc: "Accepts PUT as well as POST." }),
  allowProbes: list(choice(sourceProbes), {
    countMin: 0,
    countMax: sourceProbes.length,
    isSet: true,
    doc: "Address checks that are answered with 200, in addition to the provider's: `head`, `get`, and `validation_token` (POST with `?validationToken=…`, which is returned as plain text). They are not stored.",
  }),
  customResponse: nullable(
    object(customResponseFields, {
      title: "CustomResponseInput",
      doc: "Response to senders in `store_and_forward`; 202 if null.",
    }),
  ),
  active: flag({ doc: "False refuses all messages." }),
  whenInactive: choice(inactiveAnswers, {
    default: "unavailable",
    doc: "While not active: `unavailable` answers 503, `gone` 410.",
  }),
  rateLimit: nullable(
    object(rateLimitFields, {
      title: "SourceRateLimitInput",
      doc: "Per process; requests beyond it get 429.",
    }),
  ),
  bodyBytesMax: nullable(
    integer({ min: 1, max: 67_108_864, doc: "Lower than the limit of the server; larger bodies get 413." }),
  ),
  budgetMs: integer({
    min: 1_000,
    max: 60_000,
    default: sourceDefaults.budgetMs,
    doc: "`pass_through`: time until the sender is answered. Keep it below the sender's own timeout.",
  }),
  retriesWithinBudget: flag({
    doc: "`pass_through`: retries transient failures within `budget_ms`. Without it there is one attempt.",
  }),
  statusOverrides: document({
    bytesMax: 1_024,
    doc: "`pass_through`: replaces the status that senders get, keyed by the webhook's response: a status, `timeout`, `not_reached` or `oversized`. A success must stay a success and an error an error; redirects are not allowed.",
    examples: [{ "404": 503, "410": 410 }],
  }),
  handshake: nullable(object(handshakeFields, { ...handshakeNotes, title: "SourceHandshakeInput" })),
  dedupWindowMs: integer({
    min: 86_400_000,
    max: 31 * 86_400_000,
    default: sourceDefaults.dedupMs,
    doc: "How long a repeated message is recognised.",
  }),
} satisfies Fields;
export type SourceInput = InputOf<typeof sourceFields>;

/** Without secrets and without the address; `verification` has its secrets masked. */
export const sourceShown = {
  id: id({ doc: "Id of the source." }),
  tenantId: tenantIdField,
  name: line({ lengthMax: 255 }),
  description: text({ lengthMax: 1_024 }),
  party: sourceFields.party,
  verification: document({ doc: "Verification settings with secrets masked." }),
  warnings: list(text({ lengthMax: 255 }), { countMax: 16, doc: "Problems that need attention." }),
  mode: choice(gatewayModes, { doc: "The configured mode." }),
  effectiveMode: choice(gatewayModes, {
    doc: "The mode in force: `pass_through` while the acknowledgement is missing or refers to an older description.",
  }),
  acknowledgedBy: nullable(line({ lengthMax: 255 })),
  acknowledgedAt: nullable(time({ doc: "When the service description was acknowledged." })),
  eventType: nullable(
    object(
      {
        fixed: nullable(line({ lengthMax: 128 })),
        header: nullable(line({ lengthMax: 128 })),
        pointer: nullable(line({ lengthMax: 255 })),
        query: nullable(line({ lengthMax: 128 })),
        path: nullable(flag()),
        allowUnsigned: nullable(flag()),
      },
      { title: "EventTypeSource" },
    ),
  ),
  keyPointers: sourceFields.keyPointers,
  forwardHeaders: sourceFields.forwardHeaders,
  forwardPath: sourceFields.forwardPath,
  passSignatures: sourceFields.passSignatures,
  allowPut: sourceFields.allowPut,
  allowProbes: sourceFields.allowProbes,
  customResponse: sourceFields.customResponse,
  active: sourceFields.active,
  whenInactive: sourceFields.whenInactive,
  rateLimit: sourceFields.rateLimit,
  bodyBytesMax: sourceFields.bodyBytesMax,
  budgetMs: sourceFields.budgetMs,
  retriesWithinBudget: sourceFields.retriesWithinBudget,
  statusOverrides: sourceFields.statusOverrides,
  handshake: nullable(object(handshakeFields, { ...handshakeNotes, title: "SourceHandshake" })),
  dedupWindowMs: sourceFields.dedupWindowMs,
  createdAt: time({ doc: "When it was created." }),
  updatedAt: time({ doc: "When it was last changed." }),
} satisfies Fields;

const recentCount = integer({ min: 0, max: recentRequestsMax });

const recentFields = {
  accepted: recentCount,
  duplicate: recentCount,
  rejected: recentCount,
  ignored: recentCount,
  challenge: recentCount,
  failed: recentCount,
  lastReceivedAt: nullable(time({ doc: "When the newest request arrived; null if there is none." })),
} satisfies Fields & Readonly<Record<GatewayOutcome, unknown>>;

/** A source as shown in a list. */
export const listedSourceShown = {
  ...sourceShown,
  recent: nullable(
    object(recentFields, {
      title: "RecentRequests",
      doc: `Its last requests by outcome, up to ${recentRequestsMax}; null unless \`include=recent\` asks for it.`,
    }),
  ),
} satisfies Fields;

export const sourceRotateFields = {
  overlapSeconds: integer({
    min: 0,
    max: 30 * 86_400,
    default: 86_400,
    doc: "How long the previous address keeps working.",
  }),
} satisfies Fields;
export type SourceRotateInput = InputOf<typeof sourceRotateFields>;

export const sourceAcknowledgeFields = {
  version: required(
    word({
      lengthMax: 64,
      pattern: "^[0-9a-f]+$",
      rule: "the version of a service description",
      doc: "`version` of `GET /service-description`, as it was shown to the operator of the sender.",
      examples: ["3f2a9c0b17de"],
    }),
  ),
} satisfies Fields;

export const sourceFilters = { tenantId: tenantIdField } satisfies Fields;
export const requestFilters = {
  sourceId: id({ doc: "Only requests of this source." }),
  status: integer({ min: 100, max: 599, doc: "Status of the response to the sender." }),
  outcome: choice(gatewayOutcomes),
  rejectionCause: line({
    lengthMin: 1,
    lengthMax: 64,
    doc: "A cause such as `no_matching_signature` or `too_old`.",
  }),
  bookmarked: flag({ doc: "True for requests with a bookmark, false for all others." }),
  from: timeOrDate({ doc: "At or after this time." }),
  to: timeOrDate({ doc: "Before this time." }),
  tenantId: tenantIdField,
} satisfies Fields;

export const requestReplayFields = {
  connectionIds: nullable(
    list(id(), {
      countMax: 100,
      isSet: true,
      doc: "Only these connections; if omitted, all of the source.",
    }),
  ),
} satisfies Fields;
export type RequestReplayInput = InputOf<typeof requestReplayFields>;

export const requestBookmarkFields = {
  name: nullable(
    line({
      lengthMin: 1,
      lengthMax: 255,
      doc: "Why the request is kept. It is kept until null removes the bookmark.",
      examples: ["an order with two items"],
    }),
  ),
} satisfies Fields;

// Input for connections: which source leads to which webhook, and by which rules.

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

// Input for testing a filter on messages before it is saved.

export const evaluatedMessageFields = {
  headers: headers({
    countMax: 200,
    valueLengthMax: 16_384,
    doc: "Names in any case; filters see them in lower case.",
  }),
  query: headers({ countMax: 200, valueLengthMax: 8_192, doc: "Parameters by name." }),
  path: line({ lengthMax: 8_192, doc: "The path after the address of the source, such as `/orders`." }),
  body: nullable(
    anyJson({
      doc: "Any JSON. A string is treated as the raw body: it is parsed if it is valid JSON, otherwise filters cannot see into it. If omitted, there is no body.",
    }),
  ),
} satisfies Fields;

export const filterEvaluationFields = {
  filter: required({ ...connectionFields.filter, isNullable: false }),
  requestId: id({ doc: "Evaluates this request of the log." }),
  sourceId: id({ doc: "Evaluates the newest requests of this source." }),
  last: integer({
    min: 1,
    max: 1_000,
    default: 100,
    doc: "With `source_id`: how many requests to evaluate.",
  }),
  message: object(evaluatedMessageFields, {
    title: "EvaluatedMessage",
    doc: "Evaluates this message. Give exactly one of `request_id`, `source_id` and `message`.",
  }),
} satisfies Fields;
export type FilterEvaluationInput = InputOf<typeof filterEvaluationFields>;
