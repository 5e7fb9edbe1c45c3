import { httpVersions } from "../domain/attempt-trace.ts";
import {
  deliveryOrigins,
  deliveryStatuses,
  differenceReasons,
  gateNames,
  priorities,
  renderedParts,
  retryAfterEffects,
  type WaitingFor,
  waitingReasons,
} from "../domain/delivery.ts";
import { failureCategories } from "../domain/classify.ts";
import { orderingGuarantees, webhookStatuses } from "../domain/webhook.ts";
import { deliveryRetryFields } from "./actions.ts";
import { eventFields } from "./event-input.ts";
import { choice, type Field, type Fields, id, integer, line, list, timeOrDate, word } from "./field.ts";
import { eventPatternsField, tenantIdField } from "./names.ts";
import type { OptionTable } from "./resource.ts";
import {
  closed,
  freeObject,
  idSchema,
  instant,
  instantOrNull,
  listOf,
  nullableSchema,
  oneOf,
  pageProperties,
  queryOf,
  schemaOf,
  searchOf,
  tenantIdSchema,
  textOrNull,
  Type,
} from "./schema.ts";
import { webhookHealthSchema } from "./webhook.ts";

/** Filters and sort orders of delivery lists. */

/** `next_attempt` lists only waiting deliveries, sorted by due time. */
export const deliveryOrders = ["newest", "oldest", "next_attempt"] as const;
export type DeliveryOrder = (typeof deliveryOrders)[number];

const entriesMax = 100;
const severally = "May be repeated.";

/** Filters that also apply to lists within one webhook or one event. */
export const deliveryFilterFields = {
  eventTypes: eventPatternsField,
  statuses: list(choice(deliveryStatuses), {
    countMax: entriesMax,
    api: "status",
    doc: severally,
  }),
  categories: list(choice(failureCategories), {
    countMax: entriesMax,
    api: "failure_category",
    doc: `Category of the last failed attempt. ${severally}`,
  }),
  httpStatuses: list(
    word({
      lengthMax: 4,
      pattern: "^([1-5][0-9][0-9]|[1-5]xx|none)$",
      rule: "a status such as 422, a class such as 5xx, or none",
    }),
    {
      countMax: entriesMax,
      api: "http_status",
      doc: `Status of the last attempt: \`422\`, \`5xx\`, or \`none\` for an attempt without a response. ${severally}`,
    },
  ),
  waitingFor: list(choice(waitingReasons), { countMax: entriesMax, doc: severally }),
  origins: list(choice(deliveryOrigins), {
    countMax: entriesMax,
    api: "origin",
    doc: `Why the delivery was created. ${severally}`,
  }),
  attemptMin: integer({ min: 1, max: 1_000, doc: "Only deliveries with at least this many attempts." }),
  errorText: line({
    lengthMin: 1,
    lengthMax: 200,
    api: "error",
    doc: "Case-insensitive substring of the error or of the stored part of the response of the last attempt.",
  }),
  from: timeOrDate({ doc: "Only deliveries created at or after this time." }),
  to: timeOrDate({ doc: "Only deliveries created before this time." }),
  order: choice(deliveryOrders, {
    default: "newest",
    doc: "`next_attempt` lists waiting deliveries, earliest due first.",
  }),
} satisfies Fields;

export const deliveryFilterOptions: OptionTable<typeof deliveryFilterFields> = {
  eventTypes: "--type <type>",
  statuses: "--status <status>",
  categories: "--category <category>",
  httpStatuses: "--http-status <status>",
  waitingFor: "--waiting-for <reason>",
  origins: "--origin <origin>",
  attemptMin: "--attempts-min <count>",
  errorText: "--error <text>",
};

const idempotencyKeyField: Field<string> = Object.assign({}, eventFields.idempotencyKey, {
  doc: "Only deliveries of the event that was published with this key.",
});

/** Filters for lists over all deliveries. */
export const deliveryListFields = {
  ...deliveryFilterFields,
  webhookIds: list(id(), { countMax: entriesMax, api: "webhook_id", doc: severally }),
  eventId: id({ doc: "Only deliveries of this event." }),
  idempotencyKey: idempotencyKeyField,
  sourceId: id({
    doc: "Only deliveries of messages that this gateway source received in `store_and_forward`.",
  }),
  tenantId: tenantIdField,
} satisfies Fields;

export const deliveryListOptions: OptionTable<typeof deliveryListFields> = {
  webhookIds: ["--webhook <id>", "only this webhook, repeatable"],
  eventId: "--event <id>",
  idempotencyKey: "--idempotency-key <key>",
  sourceId: "--source <id>",
  tenantId: ["--tenant <id>", "tenant (administrators)"],
};

/** Complete by construction: adding a reason without a description is a compile error. */
const waitingForDescriptions: Readonly<Record<WaitingFor, string>> = {
  schedule: "the next retry of its schedule",
  retry_after: "the receiver requested a delay with `Retry-After`",
  rate_limit_pause: "the webhook is paused after a 429 without a delay",
  timeout_pause: "the webhook is paused after a timeout",
  throttle_pause: "the webhook is paused after a 502 or 504",
  failure_pause: "the webhook is paused after a connection that closed without a response",
  rate_limit: "the webhook's rate limit",
  tenant_rate_limit: "the tenant's rate limit",
  circuit_open: "the circuit is open",
  order: "an earlier delivery in the same order",
  inactive: "the webhook is not active",
  no_signing_key: "the webhook has no signing key; rotate its secret",
  paused: "the webhook was paused manually",
  concurrency: "requests in flight to the same webhook",
  capacity:
    "the limit of requests in flight of the process or host; or no worker of the tenant's pool is running",
  in_flight: "its request in flight",
};

const deliveryProperties = {
  id: idSchema("the delivery"),
  webhook_id: idSchema("the webhook"),
  event_id: idSchema("the event"),
  event_type: Type.String(),
  tenant_id: tenantIdSchema,
  status: oneOf(deliveryStatuses, {
    description:
      "`pending` before the first attempt or the first after a manual retry, `failed` while a retry is due, `exhausted` as a dead letter, `circuit_blocked` while an open circuit holds it, `skipped` if the webhook was not active.",
  }),
  priority: oneOf(priorities),
  origin: oneOf(deliveryOrigins),
  attempt_count: Type.Integer({ minimum: 0 }),
  waiting_for: nullableSchema(
    oneOf(Object.keys(waitingForDescriptions), {
      description: Object.entries(waitingForDescriptions)
        .map(([name, text]) => `\`${name}\`: ${text}`)
        .join("; "),
    }),
  ),
  waiting_until: instantOrNull("Null if the delivery is not waiting, or if the time is unknown."),
  next_attempt_at: instantOrNull("When the next request is due."),
  created_at: instant("When the delivery was created."),
  first_attempt_at: instantOrNull("Time of the first request."),
  completed_at: instantOrNull(
    "When the delivery succeeded, became a dead letter, or was skipped or cancelled.",
  ),
  last_attempt_at: instantOrNull("When the last request was sent."),
  last_http_status_code: nullableSchema(
    Type.Integer("Status of the last response; null without a response."),
  ),
  last_duration_ms: nullableSchema(Type.Number("Duration of the last request.")),
  failure_category: nullableSchema(
    oneOf(failureCategories, { description: "Category of the last failed attempt." }),
  ),
  reason: nullableSchema(
    Type.String({
      description:
        "The reason for the state. For `skipped`: `webhook_disabled`, `webhook_suspended` or `webhook_unverified`.",
      examples: ["max_attempts_exceeded"],
    }),
  ),
  retried_at: instantOrNull(
    "Time of the last manual retry, from which the age and the schedule of the delivery are counted; null if there was none.",
  ),
  replay_of: nullableSchema(idSchema("the delivery that this replay copies")),
  replayed_by: nullableSchema(idSchema("its latest replay")),
};

export const deliverySchema = closed(deliveryProperties, { title: "Delivery" });
export const deliveryListSchema = listOf(deliverySchema, "DeadLetterList");

const keptForSome =
  "Stored for every attempt that was not accepted and for 1 in 100 of the others; otherwise null.";
const milliseconds = (description: string) => nullableSchema(Type.Number({ description }));

const headerListSchema = Type.Array(
  closed({ name: Type.String(), value: Type.String() }, { title: "HeaderField" }),
  { description: "In their original order. Possible credentials are replaced by `***`." },
);

const timingsSchema = closed(
  {
    dns: milliseconds("DNS lookup."),
    connect: milliseconds("TCP connection."),
    tls: milliseconds("The TLS handshake."),
    wait: milliseconds(
      "Time from the end of the connection setup until the response headers, or until the attempt was abandoned.",
    ),
  },
  {
    title: "AttemptTimings",
    description: "Milliseconds; null for steps that were not needed or not reached.",
  },
);

/** Metadata of an attempt, which takes up to 1 KiB in its stored form. */
const traceProperties = {
  url: textOrNull(`The requested URL, with tokens masked. ${keptForSome}`),
  http_version: nullableSchema(
    oneOf(httpVersions, { description: "Null if no connection was established." }),
  ),
  peer_address: textOrNull(
    "The address that was connected to, or the last one tried. Addresses that are not public are shown only to administrators. Null through a proxy.",
  ),
  response_headers: nullableSchema(headerListSchema),
  timings_ms: nullableSchema(timingsSchema),
  config_revision: nullableSchema(Type.Integer("The `revision` of the webhook that made the request.")),
  metadata_truncated: Type.Boolean("Whether the URL or headers were truncated: up to 1 KiB of them is kept."),
};

export const attemptSchema = closed(
  {
    id: idSchema("the attempt"),
    webhook_id: idSchema("the webhook"),
    event_id: idSchema("the event"),
    attempt_number: Type.Integer({ minimum: 1 }),
    status: oneOf(["success", "failed", "exhausted"]),
    outcome: oneOf(["accepted", "transient", "terminal"]),
    failure_category: nullableSchema(oneOf(failureCategories)),
    http_status_code: nullableSchema(Type.Integer()),
    response_body_sample: textOrNull("Up to 1,024 bytes."),
    error_message: nullableSchema(Type.String()),
    duration_ms: Type.Number(),
    scheduled_at: instant("When the attempt was due."),
    executed_at: instant("When the request was sent."),
    next_retry_at: instantOrNull("When the next attempt was due."),
    retry_after: nullableSchema(
      closed(
        {
          value: Type.String("The response header as received."),
          effect: oneOf(retryAfterEffects, {
            description:
              "`lower_bound`: it determined when the next request was due; `none`: the schedule's delay was longer, or the header was absent; `unparsable`: it is not a valid time and was ignored; `beyond_horizon`: the delivery would have been too old by then and became a dead letter.",
          }),
        },
        { title: "RetryAfter" },
      ),
    ),
    circuit_breaker_prevented: Type.Boolean(
      "Always false: a request that was held back does not count as an attempt. See `waits` of the delivery.",
    ),
    receiver_state_unknown: Type.Boolean(
      "The receiver may have processed the request although no response arrived.",
    ),
    ...traceProperties,
  },
  { title: "Attempt" },
);

export const webhookSummarySchema = closed(
  {
    id: idSchema("the webhook"),
    url: Type.String(),
    description: Type.String(),
    status: oneOf(webhookStatuses),
    health: webhookHealthSchema,
  },
  { title: "WebhookSummary" },
);

export const listedDeliverySchema = closed(
  {
    ...deliveryProperties,
    last_attempt: Type.Optional(nullableSchema(attemptSchema)),
    webhook: Type.Optional(nullableSchema(webhookSummarySchema)),
  },
  { title: "ListedDelivery" },
);
export const deliverySearchSchema = searchOf(listedDeliverySchema, "DeliveryList");

const waitSchema = closed(
  {
    reason: oneOf(gateNames, { description: "As in `waiting_for`." }),
    from: instant("When the gate was found closed or the delivery became due."),
    until: instant("When the gate opened, or now."),
  },
  { title: "DeliveryWait" },
);

const remedySchema = closed(
  {
    text: Type.String("A sentence."),
    method: oneOf(["GET", "POST", "PATCH", "PUT"]),
    path: Type.String(),
    body: nullableSchema(freeObject()),
  },
  {
    title: "Remedy",
    description: "A call to this API. `body` is null if the caller chooses its content.",
  },
);

export const gateSchema = closed(
  {
    gate: oneOf(waitingReasons, { description: "As in `waiting_for`." }),
    since: instantOrNull("Null if it was not recorded."),
    until: instantOrNull("Null if only a person or a response can open the gate."),
    cause: Type.String("A sentence."),
    remedy: nullableSchema(remedySchema),
  },
  { title: "DeliveryGate" },
);

const retrySchema = closed(
  {
    at: instant("Time of the retry."),
    attempt_count: Type.Integer({ minimum: 0, description: "Number of attempts before the retry." }),
    by: nullableSchema(
      closed(
        {
          kind: oneOf(["api_key", "dashboard_session", "portal_session"]),
          name: textOrNull(
            "Name of the API key, or reference of the portal session. A portal session can only read its own reference.",
          ),
        },
        { title: "RetryAuthor", description: "Null for bulk operations and the library." },
      ),
    ),
    operation_id: nullableSchema(idSchema("the bulk operation that retried it")),
  },
  { title: "DeliveryRetry" },
);

export const deliveryWithAttemptsSchema = closed(
  {
    ...deliveryProperties,
    lane: closed(
      { ordering_guarantee: oneOf(orderingGuarantees), event_type: nullableSchema(Type.String()) },
      { title: "Lane", description: "The lane of the delivery; lanes of the kind `none` are unordered." },
    ),
    gates: Type.Array(gateSchema, {
      description:
        "Everything that currently holds the delivery, with the reason and what ends it; the gate in `waiting_for` comes first. Empty unless it is waiting.",
    }),
    receiver_state_unknown: Type.Boolean(),
    waits: Type.Array(waitSchema, {
      description:
        "The gates that held the delivery after it was due, each listed once. For the rest of the time it was queued.",
    }),
    attempts: Type.Array(attemptSchema),
    retries: Type.Array(retrySchema, { description: "The latest 20 manual retries, oldest first." }),
  },
  { title: "DeliveryWithAttempts" },
);

export const differenceTexts: Readonly<Record<(typeof differenceReasons)[number], string>> = {
  configuration_changed:
    "the webhook has been changed since the attempt; `url` is the URL of the attempt, if known",
  configuration_may_have_changed:
    "the webhook has been changed since the attempt, and its earlier configuration was not kept",
  secret_rotated: "a key or credential of the webhook is newer than the request",
  access_token: "the access token of the attempt, and the time to obtain it, are not kept",
};

export const renderedRequestSchema = closed(
  {
    delivery_id: idSchema("the delivery"),
    attempt_number: Type.Integer({ minimum: 1 }),
    method: oneOf(["POST"]),
    url: Type.String("Tokens are masked."),
    headers: headerListSchema,
    body_base64: Type.String("The bytes of the body, always exactly as sent."),
    exact: Type.Boolean(
      "Whether the request is exactly as sent, except for masked values and headers that the connection adds.",
    ),
    may_differ: Type.Array(
      closed(
        {
          parts: Type.Array(oneOf(renderedParts)),
          reason: oneOf(differenceReasons, {
            description: differenceReasons.map((name) => `\`${name}\`: ${differenceTexts[name]}`).join("; "),
          }),
          detail: Type.String(),
        },
        { title: "RequestDifference" },
      ),
      { description: "What may differ, and why. Empty if `exact`." },
    ),
  },
  { title: "RenderedRequest" },
);

export const deliveryHandleSchema = closed(
  { delivery_id: idSchema("the new delivery"), webhook_id: idSchema("the webhook") },
  { title: "DeliveryHandle" },
);

export const retriedDeliverySchema = closed(
  {
    delivery_id: idSchema("the delivery that is sent again, or the copy of a successful one"),
    webhook_id: idSchema("the webhook"),
    replay_of: nullableSchema(idSchema("the successful delivery that is copied")),
    status: deliveryProperties.status,
    waiting_for: deliveryProperties.waiting_for,
    waiting_until: deliveryProperties.waiting_until,
  },
  { title: "RetriedDelivery" },
);

export const replayResultSchema = closed(
  { deliveries: Type.Array(deliveryHandleSchema) },
  { title: "ReplayResult" },
);

const includeNames = ["last_attempt", "webhook"] as const;

/** Optional fields of a listed delivery. */
export const includeProperty = Type.Optional(
  Type.Array(
    Type.String({
      pattern: `^(${includeNames.join("|")})(,(${includeNames.join("|")}))*$`,
      "x-rule": "last_attempt, webhook, or both separated by a comma",
    }),
    {
      maxItems: includeNames.length,
      description:
        "Additional parts of each row: `last_attempt`, `webhook`. May be repeated or separated by commas.",
    },
  ),
);

const searchProperties = { ...pageProperties, include: includeProperty };

export const deliveryListQuerySchema = closed({ ...searchProperties, ...queryOf(deliveryListFields) });
/** Filters for the deliveries of one webhook or one event. */
export const deliveryQuerySchema = closed({ ...searchProperties, ...queryOf(deliveryFilterFields) });

export const retryInputSchema = schemaOf(deliveryRetryFields, { title: "RetryInput" });
