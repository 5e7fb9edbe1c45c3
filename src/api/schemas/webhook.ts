import { Type } from "typebox";
import type { Static, TOptional, TProperties } from "typebox";
import { urlLengthMax } from "../../core/egress/url-policy.ts";
import { eventTypeLengthMax } from "../../core/event-type.ts";
import { customHeaderLimits } from "../../core/request-headers.ts";
import { scheduleDelayMsMax } from "../../core/retry-schedule.ts";
import { payloadFormats, signatureSchemeNames } from "../../core/profile.ts";
import { orderingGuarantees } from "../../core/webhook.ts";
import { attemptTimeoutMsMax } from "../../core/delivery-policy.ts";
import {
  closed,
  eventTypeName,
  freeObject,
  id,
  instant,
  line,
  listOf,
  nullable,
  oneOf,
  pageProperties,
  tenantId,
} from "./building-blocks.ts";
import { credentialInputs, credentialProperties } from "./webhook-credentials.ts";
import { verificationInput, verificationSchema } from "./webhook-verification.ts";

/** Only keeps requests small; how many attempts a schedule may have is judged by core/retry-schedule.ts. */
const scheduleItemsMax = 1_000;

const eventPattern = Type.String({
  pattern: "^(\\*|[a-zA-Z0-9_]+(\\.[a-zA-Z0-9_]+)*(\\.\\*)?)$",
  maxLength: eventTypeLengthMax,
  "x-rule": "an event type, a prefix ending in .*, or *",
  examples: ["order.*"],
});

const retryInputSchema = closed(
  {
    max_attempts: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: scheduleItemsMax,
        description: "Requests in all, the first one included.",
      }),
    ),
    base_delay_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: scheduleDelayMsMax,
        description: "Delay before the second request.",
      }),
    ),
    max_delay_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: scheduleDelayMsMax })),
    backoff_multiplier: Type.Optional(Type.Number({ minimum: 1, maximum: 100 })),
    timeout_ms: Type.Optional(
      Type.Integer({ minimum: 100, maximum: attemptTimeoutMsMax, description: "For one whole request." }),
    ),
    timeout_growth_factor: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 3,
        description: "The timeout grows by this with each attempt, to at most three times.",
      }),
    ),
    schedule_ms: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0, maximum: scheduleDelayMsMax }), {
        minItems: 1,
        maxItems: scheduleItemsMax,
        description: "Delays between requests, instead of the exponential fields.",
        examples: [[5_000, 60_000, 600_000]],
      }),
    ),
    max_age_ms: Type.Optional(
      Type.Integer({
        minimum: 1_000,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "A delivery older than this is dead-lettered.",
      }),
    ),
  },
  { title: "RetryConfigInput", description: "Overrides of the profile's retry schedule." },
);

const circuitBreakerInputSchema = closed(
  {
    enabled: Type.Optional(Type.Boolean()),
    error_threshold_percentage: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 100 })),
    minimum_throughput: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    window_size_ms: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 3_600_000 })),
    sleep_window_ms: Type.Optional(Type.Integer({ minimum: 100, maximum: 3_600_000 })),
    half_open_max_calls: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  { title: "CircuitBreakerConfigInput", description: "Overrides of the profile's circuit breaker." },
);

const rateLimitSchema = closed(
  {
    requests_per_minute: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    burst: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  },
  { title: "RateLimit" },
);

const signingInputSchema = closed(
  {
    schemes: nullable(
      Type.Array(oneOf(signatureSchemeNames), {
        minItems: 1,
        maxItems: signatureSchemeNames.length,
        uniqueItems: true,
      }),
    ),
  },
  {
    title: "Signing",
    description:
      "`v1` is HMAC-SHA256 and `v1a` Ed25519 of Standard Webhooks; the others are `X-Webhook-Signature` and RFC 9421. Null is as the profile says, which also says which are possible.",
  },
);

const agreementsInput = closed(
  {
    accept_multi_status: Type.Optional(Type.Boolean({ description: "207 counts as accepted." })),
    follow_permanent_redirect: Type.Optional(
      Type.Boolean({ description: "308 changes the stored URL; only with profiles that allow it." }),
    ),
    idempotency_enforced: Type.Optional(
      Type.Boolean({ description: "The receiver enforces Idempotency-Key, so its 409 is retried." }),
    ),
  },
  {
    title: "AgreementsInput",
    description: "What owner and receiver agreed on beside the profile; what is absent stays.",
  },
);

const agreementsSchema = closed(
  {
    accept_multi_status: Type.Boolean(),
    follow_permanent_redirect: Type.Boolean(),
    idempotency_enforced: Type.Boolean(),
  },
  { title: "Agreements" },
);

const headersSchema = Type.Unsafe<Record<string, string>>({
  type: "object",
  additionalProperties: { type: "string" },
  maxProperties: customHeaderLimits.countMax,
  description: "Sent with every request. Names that Posthorn sets itself are refused.",
  examples: [{ "X-Shop": "berlin" }],
});

/** What create and update have in common. */
const inputProperties = {
  url: Type.String({
    minLength: 1,
    maxLength: urlLengthMax,
    description: "https, and a public address.",
    examples: ["https://example.com/hooks"],
  }),
  events: Type.Array(eventPattern, {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: "Event types; `order.*` takes all below, `*` all.",
  }),
  description: Type.String({ maxLength: 1_024 }),
  owner_id: nullable(line(255)),
  active: Type.Boolean(),
  profile: line(64, { description: "Delivery profile; see /v1/profiles.", examples: ["standard"] }),
  signing: signingInputSchema,
  payload_format: nullable(
    oneOf(payloadFormats, { description: "One of the profile's; null is its first." }),
  ),
  ...credentialInputs,
  http2: nullable(Type.Boolean({ description: "HTTP/2 where the receiver offers it." })),
  migration_headers: nullable(
    Type.Boolean({
      description: "Sends the headers of both families while a receiver moves from one to the other.",
    }),
  ),
  agreements: nullable(agreementsInput),
  retry_config: nullable(retryInputSchema),
  timeout_ms: nullable(
    Type.Integer({
      minimum: 100,
      maximum: attemptTimeoutMsMax,
      description: "The same as `retry_config.timeout_ms`.",
    }),
  ),
  circuit_breaker_config: nullable(circuitBreakerInputSchema),
  rate_limit: nullable(rateLimitSchema),
  ordering_guarantee: oneOf(orderingGuarantees, {
    description: "`strict` keeps one delivery in flight per webhook, `per_event_type` one per event type.",
  }),
  headers: headersSchema,
  metadata: freeObject({ description: "Yours; kept and returned as it is." }),
  verification: verificationInput,
  verify_url: Type.Boolean({ description: 'True is `verification: "challenge"`.' }),
} satisfies TProperties;

const { url: _url, events: _events, ...beside } = inputProperties;

/** All but what a new webhook must have. */
const optionalInput = Object.fromEntries(
  Object.entries(beside).map(([name, schema]) => [name, Type.Optional(schema)]),
) as { [Name in keyof typeof beside]: TOptional<(typeof beside)[Name]> };

export const secretInput = Type.String({
  maxLength: 256,
  description: "`whsec_` or `whsk_` and the base64 of 24 to 64 bytes; generated when absent.",
});

export const webhookCreateSchema = closed(
  {
    url: inputProperties.url,
    events: inputProperties.events,
    secret: Type.Optional(secretInput),
    tenant_id: Type.Optional(tenantId),
    ...optionalInput,
  },
  { title: "WebhookCreate", examples: [{ url: "https://example.com/hooks", events: ["order.*"] }] },
);
export type WebhookCreate = Static<typeof webhookCreateSchema>;

export const webhookUpdateSchema = closed(
  {
    url: Type.Optional(inputProperties.url),
    events: Type.Optional(inputProperties.events),
    ...optionalInput,
  },
  {
    title: "WebhookUpdate",
    description: "What is absent keeps its value, with PUT as with PATCH.",
    examples: [{ active: false }],
  },
);
export type WebhookUpdate = Static<typeof webhookUpdateSchema>;

const retryConfigSchema = closed(
  {
    max_attempts: Type.Integer(),
    base_delay_ms: nullable(Type.Number({ description: "Null with a `schedule_ms`." })),
    max_delay_ms: nullable(Type.Number()),
    backoff_multiplier: nullable(Type.Number()),
    timeout_ms: Type.Integer(),
    timeout_growth_factor: Type.Number(),
    schedule_ms: nullable(Type.Array(Type.Number(), { description: "Null with exponential delays." })),
    max_age_ms: Type.Integer(),
  },
  { title: "RetryConfig", description: "What is in force: the profile with the webhook's overrides." },
);

const circuitBreakerConfigSchema = closed(
  {
    enabled: Type.Boolean(),
    error_threshold_percentage: Type.Number(),
    minimum_throughput: Type.Integer(),
    window_size_ms: Type.Integer(),
    sleep_window_ms: Type.Integer(),
    half_open_max_calls: Type.Integer(),
    force_open_until: nullable(instant("Opened by hand until then.")),
  },
  { title: "CircuitBreakerConfig" },
);

/** `unverified` waits until its receiver permits it. */
export const webhookStatuses = ["active", "suspended", "disabled", "unverified"] as const;

const webhookProperties = {
  id: id("the webhook"),
  tenant_id: tenantId,
  owner_id: nullable(Type.String()),
  url: Type.String(),
  events: Type.Array(Type.String()),
  description: Type.String(),
  active: Type.Boolean(),
  status: oneOf(webhookStatuses),
  status_reason: nullable(Type.String({ description: "Why it is not active." })),
  profile: Type.String(),
  signing: closed({ schemes: Type.Array(Type.String()) }),
  payload_format: oneOf(payloadFormats),
  verification: verificationSchema,
  retry_config: retryConfigSchema,
  timeout_ms: Type.Integer(),
  circuit_breaker_config: circuitBreakerConfigSchema,
  rate_limit: nullable(rateLimitSchema),
  ordering_guarantee: oneOf(orderingGuarantees),
  headers: Type.Unsafe<Record<string, string>>({ type: "object", additionalProperties: { type: "string" } }),
  ...credentialProperties,
  http2: Type.Boolean(),
  migration_headers: Type.Boolean(),
  agreements: agreementsSchema,
  secret: nullable(Type.String({ description: "Masked, except in the answer that created it." })),
  metadata: freeObject(),
  created_at: instant("When it was created."),
  updated_at: instant("When it was changed last."),
  last_success_at: nullable(instant("Last delivery that was accepted.")),
};

export const webhookSchema = closed(webhookProperties, { title: "Webhook" });
export const webhookListSchema = listOf(webhookSchema, "WebhookList");

export const webhookQuerySchema = closed({
  ...pageProperties,
  active: Type.Optional(Type.Boolean()),
  event_type: Type.Optional(eventTypeName),
  tenant_id: Type.Optional(tenantId),
});
