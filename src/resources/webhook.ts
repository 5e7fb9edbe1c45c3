import { attemptTimeoutMsMax, timeoutGrowthMax } from "../domain/delivery-policy.ts";
import { circuitStates } from "../domain/circuit-breaker.ts";
import { urlLengthMax } from "../domain/egress/url-policy.ts";
import { type WebhookHealthState, webhookHealthStates } from "../domain/endpoint-health.ts";
import { payloadFormats, signatureSchemeNames } from "../domain/profile.ts";
import { profiles } from "../domain/profiles/index.ts";
import { scheduleAttemptsMax, scheduleDelayMsMax } from "../domain/retry-schedule.ts";
import {
  orderingGuarantees,
  tracePolicies,
  verificationMethods,
  webhookStatuses,
} from "../domain/webhook.ts";
import { incidentFields } from "./actions.ts";
import {
  choice,
  decimal,
  document,
  type Fields,
  flag,
  type Group,
  headers,
  type InputOf,
  integer,
  line,
  list,
  nullable,
  object,
  objectOrText,
  onlyForCreation,
  required,
  requiredToCreate,
  text,
  time,
  url,
} from "./field.ts";
import { eventPatternField, eventTypeField, rateLimitFields, secretField, tenantIdField } from "./names.ts";
import {
  closed,
  freeObject,
  idSchema,
  instant,
  listingQuery,
  listOf,
  nullableSchema,
  oneOf,
  schemaOf,
  shownSchemaOf,
  tenantIdSchema,
  Type,
} from "./schema.ts";
import { credentialFields, credentialProperties, headerBounds } from "./webhook-credentials.ts";

/** How a receiver confirms that it wants the events, and what it can report. */

const verificationSchema = closed(
  {
    method: oneOf(verificationMethods),
    state: oneOf(["none", "pending", "granted", "refused"]),
    detail: nullableSchema(Type.String({ description: "The request and the response." })),
    granted_at: nullableSchema(instant("When the receiver permitted deliveries.")),
    requested_rate_per_minute: nullableSchema(Type.Integer()),
    allowed_rate_per_minute: nullableSchema(
      Type.Integer({ description: "The rate that the receiver permits; null if unlimited." }),
    ),
    when_unsupported: oneOf(["refuse", "slow"]),
    dns_record: nullableSchema(
      closed(
        { name: Type.String(), value: Type.String() },
        { title: "DnsRecord", description: "The TXT record to publish, with the method `dns`." },
      ),
    ),
  },
  { title: "Verification" },
);

export const callbackQuerySchema = closed({
  key: Type.String({ minLength: 1, maxLength: 256, description: "The secret of the callback URL." }),
});

export const callbackResultSchema = closed(
  {
    webhook_id: idSchema("the webhook"),
    state: oneOf(["granted"]),
    allowed_rate_per_minute: nullableSchema(Type.Integer()),
  },
  { title: "VerificationGranted" },
);

export const incidentInputSchema = schemaOf(incidentFields, {
  title: "IncidentInput",
  examples: [{ kind: "bad_signature", detail: "three messages signed with an unknown key" }],
});

export const incidentResultSchema = closed(
  { event_id: idSchema("the operational event that announces it") },
  { title: "IncidentReported" },
);

/** Payloads are kept this long by default. */
const ageMsMax = 30 * 86_400_000;

/** For one request. A shorter timeout is likely a mistake: many receivers need longer for their first TLS handshake. */
const timeoutBounds = { min: 100, max: attemptTimeoutMsMax };

const delay = integer({ min: 0, max: scheduleDelayMsMax });

/** `retry_config`: either the exponential fields of WDS-46 to 51, or a list of delays. */
export const retryFields = {
  maxAttempts: integer({
    min: 1,
    max: scheduleAttemptsMax,
    doc: "Total number of requests, including the first.",
  }),
  baseDelayMs: integer({ min: 1, max: scheduleDelayMsMax, doc: "Delay before the second request." }),
  maxDelayMs: integer({ min: 1, max: scheduleDelayMsMax, doc: "Upper bound of every delay." }),
  backoffMultiplier: decimal({ min: 1, max: 100, doc: "Factor between consecutive delays." }),
  timeoutMs: integer({ ...timeoutBounds, doc: "Timeout of one whole request." }),
  timeoutGrowthFactor: decimal({
    min: 1,
    max: timeoutGrowthMax,
    doc: "Factor by which the timeout grows with each attempt, up to three times the initial timeout.",
  }),
  scheduleMs: list(delay, {
    // The first request needs no delay.
    countMax: scheduleAttemptsMax - 1,
    doc: "Delays between requests, instead of the exponential fields.",
    examples: [[5_000, 60_000, 600_000]],
  }),
  maxAgeMs: integer({ min: 1_000, max: ageMsMax, doc: "A delivery older than this is dead-lettered." }),
} satisfies Fields;
export type RetryInput = InputOf<typeof retryFields>;

// Fields that callers may set on a webhook, through the API and the library.

/** WDS-52 to 57. */
const circuitBreakerFields = {
  enabled: flag(),
  errorThresholdPercentage: decimal({
    min: 1,
    max: 100,
    doc: "The circuit opens when this share of the calls in a window failed.",
  }),
  minimumThroughput: integer({
    min: 1,
    max: 1_000_000,
    doc: "Minimum calls in a window before the circuit may open.",
  }),
  windowSizeMs: integer({ min: 1_000, max: 3_600_000, doc: "Length of the window." }),
  sleepWindowMs: integer({
    min: 100,
    max: 86_400_000,
    doc: "How long the circuit stays open before the first probe.",
  }),
  halfOpenMaxCalls: integer({ min: 1, max: 100, doc: "Concurrent probes." }),
} satisfies Fields;

export const circuitBreakerShown = {
  ...circuitBreakerFields,
  forceOpenUntil: nullable(time({ doc: "Forced open by hand until this time." })),
} satisfies Fields;

const agreementFields = {
  acceptMultiStatus: flag({ doc: "Treat 207 as accepted." }),
  followPermanentRedirect: flag({
    doc: "Let a 308 change the stored URL; only with profiles that allow it.",
  }),
  idempotencyEnforced: flag({
    doc: "The receiver enforces Idempotency-Key, so its 409 is retried.",
  }),
} satisfies Fields;

const verificationFields = {
  method: required(choice(verificationMethods)),
  requestedRatePerMinute: nullable(
    integer({ min: 1, max: 1_000_000, doc: "`cloudevents`: rate to request in the handshake." }),
  ),
  whenUnsupported: choice(["refuse", "slow"], {
    default: "refuse",
    doc: "`cloudevents`: for receivers that do not support the handshake: send nothing, or one request per minute.",
  }),
} satisfies Fields;
export type VerificationInput = InputOf<typeof verificationFields>;

const signing: Group = {
  api: "signing",
  title: "Signing",
  doc: "`v1` is HMAC-SHA256 and `v1a` is Ed25519 of Standard Webhooks; the others are `X-Webhook-Signature` and RFC 9421. Null uses the profile's default; the profile also lists the allowed schemes.",
  isComplete: true,
};

export const webhookFields = {
  url: requiredToCreate(
    url({
      lengthMax: urlLengthMax,
      doc: "An https URL with a public address.",
      examples: ["https://example.com/hooks"],
    }),
  ),
  events: requiredToCreate(
    list(eventPatternField, {
      countMax: 100,
      isSet: true,
      doc: "Event types; `order.*` matches all below `order.`, `*` matches all.",
    }),
  ),
  secret: onlyForCreation(secretField),
  tenantId: onlyForCreation(tenantIdField),
  description: text({ lengthMax: 1_024, doc: "Free-form description." }),
  ownerId: nullable(line({ lengthMin: 1, lengthMax: 255 })),
  active: flag({ doc: "False keeps the webhook without sending." }),
  profile: choice(
    profiles.map(({ name }) => name),
    { doc: "Delivery profile; see /v1/profiles.", examples: ["standard"] },
  ),
  schemes: nullable(
    list(choice(signatureSchemeNames), {
      countMax: signatureSchemeNames.length,
      isSet: true,
      within: signing,
    }),
  ),
  payloadFormat: nullable(
    choice(payloadFormats, { doc: "A payload format of the profile; null uses its first." }),
  ),
  ...credentialFields,
  http2: nullable(flag({ doc: "Use HTTP/2 if the receiver offers it." })),
  migrationHeaders: nullable(
    flag({ doc: "Sends the headers of both families while a receiver migrates from one to the other." }),
  ),
  traceContext: nullable(
    choice(tracePolicies, {
      doc: "What the receiver gets of the trace that an event was published in. `forward`: `traceparent` if the publisher sent one; `forward_with_state`: also `tracestate`, for receivers that agreed to it; `always`: a `traceparent` for every event; `off`: nothing.",
    }),
  ),
  agreements: nullable(
    object(agreementFields, {
      title: "AgreementsInput",
      doc: "Agreements between owner and receiver that change the profile; absent members keep their value.",
    }),
  ),
  retry: nullable(
    object(retryFields, {
      api: "retry_config",
      title: "RetryConfigInput",
      doc: "Overrides of the profile's retry schedule.",
    }),
  ),
  timeoutMs: nullable(integer({ ...timeoutBounds, doc: "The same as `retry_config.timeout_ms`." })),
  circuitBreaker: nullable(
    object(circuitBreakerFields, {
      api: "circuit_breaker_config",
      title: "CircuitBreakerConfigInput",
      doc: "Overrides of the profile's circuit breaker.",
    }),
  ),
  rateLimit: nullable(object(rateLimitFields, { title: "RateLimitInput" })),
  ordering: choice(orderingGuarantees, {
    api: "ordering_guarantee",
    doc: "`strict` keeps one delivery in flight per webhook, `per_event_type` one per event type.",
  }),
  headers: headers({
    ...headerBounds,
    doc: "Sent with every request. Names that Posthorn sets itself are refused.",
    examples: [{ "X-Shop": "berlin" }],
  }),
  metadata: document({ bytesMax: 16 * 1_024, doc: "Free-form data, stored and returned unchanged." }),
  verification: nullable(
    objectOrText(verificationFields, {
      shorthand: "method",
      doc: "How the receiver proves that it wants the events: `challenge` returns a text, `cloudevents` grants permission by OPTIONS or callback, `dns` is a TXT record of its domain. Until then the webhook is `unverified`.",
      examples: ["challenge", { method: "cloudevents", requested_rate_per_minute: 120 }],
    }),
  ),
  verifyUrl: flag({ doc: 'True means `verification: "challenge"`.' }),
} satisfies Fields;
/** Everything a caller may set. An absent field keeps its value on update and takes the default on create. */
export type WebhookInput = InputOf<typeof webhookFields>;

const {
  tenantId,
  ownerId,
  url: urlField,
  events,
  description,
  bearerTokenIn,
  http2,
  migrationHeaders,
  traceContext,
  agreements,
  ordering,
  headers: headersField,
  metadata,
} = webhookFields;
/** For these fields a webhook shows the stored value; for the others, the value in force or less. */
export const webhookShownAsStored = {
  tenantId,
  ownerId,
  url: urlField,
  events,
  description,
  bearerTokenIn,
  http2,
  migrationHeaders,
  traceContext,
  agreements,
  ordering,
  headers: headersField,
  metadata,
} satisfies Fields;

export const webhookCreateSchema = schemaOf(webhookFields, {
  title: "WebhookCreate",
  examples: [{ url: "https://example.com/hooks", events: ["order.*"] }],
});

export const webhookUpdateSchema = schemaOf(webhookFields, {
  use: "update",
  title: "WebhookUpdate",
  description: "Omitted fields keep their values, for both PUT and PATCH.",
  examples: [{ active: false }],
});

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

const retryConfigSchema = closed(
  {
    max_attempts: Type.Integer(),
    base_delay_ms: nullableSchema(Type.Number({ description: "Null if `schedule_ms` is set." })),
    max_delay_ms: nullableSchema(Type.Number()),
    backoff_multiplier: nullableSchema(Type.Number()),
    timeout_ms: Type.Integer(),
    timeout_growth_factor: Type.Number(),
    schedule_ms: nullableSchema(Type.Array(Type.Number(), { description: "Null for exponential delays." })),
    max_age_ms: Type.Integer(),
  },
  {
    title: "RetryConfig",
    description: "The effective configuration: the profile with the webhook's overrides.",
  },
);

export const webhookHealthSchema = oneOf(webhookHealthStates, {
  description:
    "The first that applies: `suspended`, `disabled` or `unverified` by its status; `paused` manually; " +
    "`circuit_open` while its circuit is not closed; `failing` if its last three attempts (or all, if there were " +
    "fewer) or most of the last eight failed; `healthy`.",
});

const webhookProperties = {
  id: idSchema("the webhook"),
  tenant_id: tenantIdSchema,
  owner_id: nullableSchema(Type.String()),
  url: Type.String(),
  events: Type.Array(Type.String()),
  description: Type.String(),
  active: Type.Boolean(),
  status: oneOf(webhookStatuses),
  status_reason: nullableSchema(Type.String({ description: "Why it is not active." })),
  health: webhookHealthSchema,
  pause: nullableSchema(
    closed(
      {
        since: instant("When it was paused."),
        until: nullableSchema(instant("When it ends automatically.")),
        reason: nullableSchema(Type.String()),
      },
      { title: "WebhookPause", description: "The manual pause; null if not paused." },
    ),
  ),
  profile: Type.String(),
  signing: closed({ schemes: Type.Array(Type.String()) }),
  payload_format: oneOf(payloadFormats),
  verification: verificationSchema,
  retry_config: retryConfigSchema,
  timeout_ms: Type.Integer(),
  circuit_breaker_config: shownSchemaOf(circuitBreakerShown, { title: "CircuitBreakerConfig" }),
  rate_limit: nullableSchema(shownSchemaOf(rateLimitFields, { title: "RateLimit" })),
  ordering_guarantee: oneOf(orderingGuarantees),
  headers: Type.Unsafe<Record<string, string>>({ type: "object", additionalProperties: { type: "string" } }),
  ...credentialProperties,
  http2: Type.Boolean(),
  migration_headers: Type.Boolean(),
  trace_context: oneOf(tracePolicies),
  agreements: shownSchemaOf(agreementFields, { title: "Agreements" }),
  secret: nullableSchema(Type.String({ description: "Masked, except in the response that created it." })),
  metadata: freeObject(),
  created_at: instant("When it was created."),
  updated_at: instant("When it was last changed."),
  revision: Type.Integer({
    minimum: 1,
    description: "Incremented by each change of its configuration and keys.",
  }),
  last_success_at: nullableSchema(instant("Time of the last accepted delivery.")),
  last_failure_at: nullableSchema(instant("Time of the last attempt that was not accepted.")),
};

export const webhookSchema = closed(webhookProperties, { title: "Webhook" });

/** Added by `include=stats`. */
const webhookStatisticsSchema = closed(
  {
    from: instant("Start of the period: 24 hours ago, rounded down to the hour."),
    to: instant("End of the period."),
    attempts: Type.Number(),
    accepted: Type.Number(),
    transient: Type.Number(),
    terminal: Type.Number(),
    failure_rate: nullableSchema(
      Type.Number({ description: "Share of attempts that were not accepted, 0 to 1." }),
    ),
    duration_ms_p50: nullableSchema(Type.Number()),
    duration_ms_p95: nullableSchema(Type.Number()),
  },
  { title: "WebhookStatistics" },
);

/** Added by `include=backlog`. */
const webhookWaitingSchema = closed(
  {
    total: Type.Integer({ minimum: 0, description: "All priorities, counted up to 10,000." }),
    more: Type.Boolean({ description: "Whether more than 10,000 are waiting." }),
    oldest_created_at: nullableSchema(
      instant("When the oldest waiting delivery was created; null if none is waiting."),
    ),
  },
  { title: "WebhookWaiting" },
);

const listedWebhookSchema = closed(
  {
    ...webhookProperties,
    stats: Type.Optional(nullableSchema(webhookStatisticsSchema)),
    backlog: Type.Optional(nullableSchema(webhookWaitingSchema)),
  },
  { title: "ListedWebhook" },
);

export const webhookListSchema = closed(
  {
    ...listOf(listedWebhookSchema, "WebhookList").properties,
    searched_to: nullableSchema(
      instant(
        "When sorted by failure rate: webhooks whose last failure is older were not examined. Otherwise null.",
      ),
    ),
    complete: Type.Boolean({
      description:
        "False if the time limit did not allow sorting all webhooks: those not examined are at the end.",
    }),
    health_counts: Type.Optional(
      closed(
        Object.fromEntries(
          webhookHealthStates.map((state) => [state, Type.Integer({ minimum: 0 })]),
        ) as Record<WebhookHealthState, ReturnType<typeof Type.Integer>>,
        { title: "WebhookHealthCounts", description: "With `include=health_counts`." },
      ),
    ),
    ranked_at: nullableSchema(
      instant(
        "When the order was computed. The order of more than 500 webhooks is cached for up to a minute and refreshed in the background. Null if current.",
      ),
    ),
  },
  { title: "WebhookList" },
);

const includeNames = ["stats", "backlog", "health_counts"] as const;
const included = `(${includeNames.join("|")})`;

export const webhookQuerySchema = closed({
  ...listingQuery(webhookFilters).properties,
  include: Type.Optional(
    Type.Array(
      Type.String({
        pattern: `^${included}(,${included})*$`,
        "x-rule": "stats, backlog, health_counts, or several separated by commas",
      }),
      {
        maxItems: includeNames.length,
        description:
          "Additional parts of each row: `stats` of the last 24 hours, null without data; `backlog`, the waiting " +
          "deliveries, null if the time limit was reached. `health_counts` adds the number of webhooks in each state of " +
          "health, regardless of the page and state filters. May be repeated or separated by commas.",
      },
    ),
  ),
});
