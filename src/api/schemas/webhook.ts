import { webhookFilters } from "../../core/fields/filters.ts";
import { Type } from "./type.ts";
import { type WebhookHealthState, webhookHealthStates } from "../../core/endpoint-health.ts";
import { payloadFormats } from "../../core/profile.ts";
import { rateLimitFields } from "../../core/fields/tenant.ts";
import { agreementFields, circuitBreakerShown, webhookFields } from "../../core/fields/webhook.ts";
import { orderingGuarantees, tracePolicies, webhookStatuses } from "../../core/webhook.ts";
import {
  listingQuery,
  closed,
  freeObject,
  idSchema,
  instant,
  listOf,
  nullableSchema,
  oneOf,
  tenantIdSchema,
} from "./building-blocks.ts";
import { schemaOf, shownSchemaOf } from "./field-schema.ts";
import { credentialProperties } from "./webhook-credentials.ts";
import { verificationSchema } from "./webhook-verification.ts";

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
    failure_rate: nullableSchema(Type.Number({ description: "Share of attempts that were not accepted, 0 to 1." })),
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
