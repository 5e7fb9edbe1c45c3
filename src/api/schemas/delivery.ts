import { webhookHealthSchema } from "./webhook.ts";
import { Type } from "./type.ts";
import { httpVersions } from "../../core/attempt-trace.ts";
import { deliveryRetryFields } from "../../core/fields/actions.ts";
import {
  deliveryOrigins,
  deliveryStatuses,
  gateNames,
  priorities,
  retryAfterEffects,
  waitingReasons,
  type WaitingFor,
} from "../../core/delivery.ts";
import { deliveryFilterFields, deliveryListFields } from "../../core/fields/delivery-list.ts";
import { failureCategories } from "../../core/outcome.ts";
import {
  closed,
  freeObject,
  id,
  instant,
  listOf,
  nullable,
  oneOf,
  pageProperties,
  queryOf,
  searchOf,
  tenantId,
} from "./building-blocks.ts";
import { schemaOf } from "./field-schema.ts";
import { differenceReasons, renderedParts } from "../../core/request-differences.ts";
import { orderingGuarantees, webhookStatuses } from "../../core/webhook.ts";

/** Complete by construction: a new reason that is missing here does not compile. */
const waitingForDescriptions: Readonly<Record<WaitingFor, string>> = {
  schedule: "the next retry of its schedule",
  retry_after: "the receiver asked to wait with `Retry-After`",
  rate_limit_pause: "the webhook pauses after a 429 that did not say how long",
  timeout_pause: "the webhook pauses after a timeout",
  throttle_pause: "the webhook pauses after a 502 or 504",
  failure_pause: "the webhook pauses after a connection that ended without an answer",
  rate_limit: "the webhook's rate limit",
  tenant_rate_limit: "the tenant's rate limit",
  circuit_open: "the circuit is open",
  order: "an earlier delivery that comes first",
  inactive: "the webhook is not active",
  no_signing_key: "the webhook has no key for its signatures; replace its secret",
  paused: "somebody paused the webhook",
  concurrency: "requests in flight to the same webhook",
  capacity:
    "requests in flight of the whole process, or to the same host; or no worker of its tenant's pool runs",
  in_flight: "its own request",
};

const deliveryProperties = {
  id: id("the delivery"),
  webhook_id: id("the webhook"),
  event_id: id("the event"),
  event_type: Type.String(),
  tenant_id: tenantId,
  status: oneOf(deliveryStatuses, {
    description:
      "`pending` before the first attempt, or the first since a manual retry, `failed` while a retry is due, `exhausted` when dead-lettered, `circuit_blocked` while an open circuit holds it, `skipped` when the webhook was not active.",
  }),
  priority: oneOf(priorities),
  origin: oneOf(deliveryOrigins),
  attempt_count: Type.Integer({ minimum: 0 }),
  waiting_for: nullable(
    oneOf(Object.keys(waitingForDescriptions), {
      description: Object.entries(waitingForDescriptions)
        .map(([name, text]) => `\`${name}\`: ${text}`)
        .join("; "),
    }),
  ),
  waiting_until: nullable(instant("Null when it does not wait, or nobody can tell.")),
  next_attempt_at: nullable(instant("When the next request is due.")),
  created_at: instant("When the delivery was made."),
  first_attempt_at: nullable(instant("First request.")),
  completed_at: nullable(instant("When it succeeded or was given up.")),
  last_attempt_at: nullable(instant("When the last request was sent.")),
  last_http_status_code: nullable(
    Type.Integer({ description: "What the last request was answered; null without an answer." }),
  ),
  last_duration_ms: nullable(Type.Number({ description: "How long the last request took." })),
  failure_category: nullable(oneOf(failureCategories, { description: "Of the last failed attempt." })),
  reason: nullable(
    Type.String({
      description:
        "Why it is in this state. For `skipped`: `webhook_disabled`, `webhook_suspended` or `webhook_unverified`.",
      examples: ["max_attempts_exceeded"],
    }),
  ),
  retried_at: nullable(
    instant(
      "When it was last retried by hand: its age and its schedule count from then. Null if it never was.",
    ),
  ),
  replay_of: nullable(id("the delivery that this replay copies")),
  replayed_by: nullable(id("the newest replay of it")),
};

const deliverySchema = closed(deliveryProperties, { title: "Delivery" });
export const deliveryListSchema = listOf(deliverySchema, "DeliveryList");

const keptForSome = "Kept for each attempt that was not accepted and for 1 in 100 others; null elsewhere.";
const milliseconds = (description: string) => nullable(Type.Number({ description }));

const headerListSchema = Type.Array(
  closed({ name: Type.String(), value: Type.String() }, { title: "HeaderField" }),
  { description: "In their order. What may be a credential is `***`." },
);

const timingsSchema = closed(
  {
    dns: milliseconds("Asking for the addresses of the name."),
    connect: milliseconds("Until the TCP connection stood."),
    tls: milliseconds("The TLS handshake."),
    wait: milliseconds("From then until the head of the answer, or until it was given up."),
  },
  { title: "AttemptTimings", description: "Milliseconds; null for what was not needed or not reached." },
);

/** 1 KiB of metadata at most, as it is stored. */
const traceProperties = {
  url: nullable(Type.String({ description: `As it was requested, tokens masked. ${keptForSome}` })),
  http_version: nullable(oneOf(httpVersions, { description: "Null also where no connection was made." })),
  peer_address: nullable(
    Type.String({
      description:
        "The address that was connected to, or tried last. Those that are not public are shown to administrators alone. Null through a proxy.",
    }),
  ),
  response_headers: nullable(headerListSchema),
  timings_ms: nullable(timingsSchema),
  config_revision: nullable(
    Type.Integer({ description: "Which `revision` of the webhook made the request." }),
  ),
  metadata_truncated: Type.Boolean({
    description: "The URL or headers were cut: at most 1 KiB is kept of all these.",
  }),
};

const attemptSchema = closed(
  {
    id: id("the attempt"),
    webhook_id: id("the webhook"),
    event_id: id("the event"),
    attempt_number: Type.Integer({ minimum: 1 }),
    status: oneOf(["success", "failed", "exhausted"]),
    outcome: oneOf(["accepted", "transient", "terminal"]),
    failure_category: nullable(oneOf(failureCategories)),
    http_status_code: nullable(Type.Integer()),
    response_body_sample: nullable(Type.String({ description: "At most 1,024 bytes." })),
    error_message: nullable(Type.String()),
    duration_ms: Type.Number(),
    scheduled_at: instant("When it was due."),
    executed_at: instant("When it was sent."),
    next_retry_at: nullable(instant("When the next one was due.")),
    retry_after: nullable(
      closed(
        {
          value: Type.String({ description: "The field of the answer, as it was received." }),
          effect: oneOf(retryAfterEffects, {
            description:
              "`lower_bound`: it decided when the next request was due; `none`: the schedule's delay was longer, or nothing was asked; `unparsable`: it is no time, and was ignored; `beyond_horizon`: the delivery would have been too old by then, and was dead-lettered.",
          }),
        },
        { title: "RetryAfter" },
      ),
    ),
    circuit_breaker_prevented: Type.Boolean({
      description: "Always false: a request that was held back is no attempt. See `waits` of the delivery.",
    }),
    receiver_state_unknown: Type.Boolean({
      description: "The receiver may have processed it although no answer came.",
    }),
    ...traceProperties,
  },
  { title: "Attempt" },
);

const webhookSummarySchema = closed(
  {
    id: id("the webhook"),
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
    last_attempt: Type.Optional(nullable(attemptSchema)),
    webhook: Type.Optional(nullable(webhookSummarySchema)),
  },
  { title: "ListedDelivery" },
);
export const deliverySearchSchema = searchOf(listedDeliverySchema, "DeliverySearch");

const waitSchema = closed(
  {
    reason: oneOf(gateNames, { description: "As in `waiting_for`." }),
    from: instant("When it was found closed, or the delivery was due."),
    until: instant("When it opened, or now."),
  },
  { title: "DeliveryWait" },
);

const remedySchema = closed(
  {
    text: Type.String({ description: "A sentence." }),
    method: oneOf(["GET", "POST", "PATCH", "PUT"]),
    path: Type.String(),
    body: nullable(freeObject()),
  },
  {
    title: "Remedy",
    description: "A call of this API. `body` is null where the caller decides what it says.",
  },
);

const gateSchema = closed(
  {
    gate: oneOf(waitingReasons, { description: "As in `waiting_for`." }),
    since: nullable(instant("Null where nobody noted it.")),
    until: nullable(instant("Null when only a person or an answer can open it.")),
    cause: Type.String({ description: "A sentence." }),
    remedy: nullable(remedySchema),
  },
  { title: "DeliveryGate" },
);

const retrySchema = closed(
  {
    at: instant("When it was retried."),
    attempt_count: Type.Integer({ minimum: 0, description: "Attempts made before." }),
    by: nullable(
      closed(
        {
          kind: oneOf(["api_key", "dashboard_session", "portal_session"]),
          name: nullable(
            Type.String({
              description:
                "Name of the API key, or reference of the portal session. Portal sessions see their own only.",
            }),
          ),
        },
        { title: "RetryAuthor", description: "Null for a bulk operation and for the library." },
      ),
    ),
    operation_id: nullable(id("the bulk operation that retried it")),
  },
  { title: "DeliveryRetry" },
);

export const deliveryWithAttemptsSchema = closed(
  {
    ...deliveryProperties,
    lane: closed(
      { ordering_guarantee: oneOf(orderingGuarantees), event_type: nullable(Type.String()) },
      { title: "Lane", description: "Which line it stands in; lines of `none` have no order." },
    ),
    gates: Type.Array(gateSchema, {
      description:
        "All that holds it now, with why and what ends that; what it waits for comes first. Empty unless it waits.",
    }),
    receiver_state_unknown: Type.Boolean(),
    waits: Type.Array(waitSchema, {
      description:
        "The gates that held it back after it was due, once each. The rest of the time it waited for its turn.",
    }),
    attempts: Type.Array(attemptSchema),
    retries: Type.Array(retrySchema, { description: "Manual retries, oldest first; the newest 20." }),
  },
  { title: "DeliveryWithAttempts" },
);

export const differenceTexts: Readonly<Record<(typeof differenceReasons)[number], string>> = {
  configuration_changed: "the webhook was changed since; `url` is the one of then where it is known",
  configuration_may_have_changed:
    "the webhook was changed since, and which configuration made the request was not kept",
  secret_rotated: "a key or credential of the webhook is newer than the request",
  access_token: "the access token of then is not kept, nor the time that it took to get it",
};

export const renderedRequestSchema = closed(
  {
    delivery_id: id("the delivery"),
    attempt_number: Type.Integer({ minimum: 1 }),
    method: oneOf(["POST"]),
    url: Type.String({ description: "Tokens masked." }),
    headers: headerListSchema,
    body_base64: Type.String({ description: "The bytes of the body, always as they were sent." }),
    exact: Type.Boolean({
      description: "All of it is as it was sent, but for what is masked and what the connection adds.",
    }),
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
      { description: "What may have been otherwise, and why. Empty when `exact`." },
    ),
  },
  { title: "RenderedRequest" },
);

const deliveryHandleSchema = closed(
  { delivery_id: id("the new delivery"), webhook_id: id("the webhook") },
  { title: "DeliveryHandle" },
);

export const retriedDeliverySchema = closed(
  {
    delivery_id: id("the delivery that is sent again, or of the copy of one that had succeeded"),
    webhook_id: id("the webhook"),
    replay_of: nullable(id("the delivery that had succeeded and is copied")),
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

/** What rows of deliveries show beside. */
export const includeProperty = Type.Optional(
  Type.Array(
    Type.String({
      pattern: `^(${includeNames.join("|")})(,(${includeNames.join("|")}))*$`,
      "x-rule": "last_attempt, webhook, or both with a comma between them",
    }),
    {
      maxItems: includeNames.length,
      description:
        "What each row shows beside: `last_attempt`, `webhook`. May be repeated, or joined by commas.",
    },
  ),
);

const searchProperties = { ...pageProperties, include: includeProperty };

export const deliveryListQuerySchema = closed({ ...searchProperties, ...queryOf(deliveryListFields) });
/** Within one webhook or one event. */
export const deliveryQuerySchema = closed({ ...searchProperties, ...queryOf(deliveryFilterFields) });

export const retryInputSchema = schemaOf(deliveryRetryFields, { title: "RetryInput" });
