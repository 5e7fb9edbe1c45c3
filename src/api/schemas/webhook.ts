import { webhookFilters } from "../../core/fields/filters.ts";
import { Type } from "./type.ts";
import { payloadFormats } from "../../core/profile.ts";
import { rateLimitFields } from "../../core/fields/tenant.ts";
import { agreementFields, circuitBreakerShown, webhookFields } from "../../core/fields/webhook.ts";
import { orderingGuarantees, tracePolicies, webhookStatuses } from "../../core/webhook.ts";
import {
  listingQuery,
  closed,
  freeObject,
  id,
  instant,
  listOf,
  nullable,
  oneOf,
  tenantId,
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
  description: "What is absent keeps its value, with PUT as with PATCH.",
  examples: [{ active: false }],
});

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
  pause: nullable(
    closed(
      {
        since: instant("When it was paused."),
        until: nullable(instant("When it ends by itself.")),
        reason: nullable(Type.String()),
      },
      { title: "WebhookPause", description: "By hand. Null while it is not paused." },
    ),
  ),
  profile: Type.String(),
  signing: closed({ schemes: Type.Array(Type.String()) }),
  payload_format: oneOf(payloadFormats),
  verification: verificationSchema,
  retry_config: retryConfigSchema,
  timeout_ms: Type.Integer(),
  circuit_breaker_config: shownSchemaOf(circuitBreakerShown, { title: "CircuitBreakerConfig" }),
  rate_limit: nullable(shownSchemaOf(rateLimitFields, { title: "RateLimit" })),
  ordering_guarantee: oneOf(orderingGuarantees),
  headers: Type.Unsafe<Record<string, string>>({ type: "object", additionalProperties: { type: "string" } }),
  ...credentialProperties,
  http2: Type.Boolean(),
  migration_headers: Type.Boolean(),
  trace_context: oneOf(tracePolicies),
  agreements: shownSchemaOf(agreementFields, { title: "Agreements" }),
  secret: nullable(Type.String({ description: "Masked, except in the answer that created it." })),
  metadata: freeObject(),
  created_at: instant("When it was created."),
  updated_at: instant("When it was changed last."),
  revision: Type.Integer({ minimum: 1, description: "Counts the changes of its configuration and keys." }),
  last_success_at: nullable(instant("Last delivery that was accepted.")),
  last_failure_at: nullable(instant("Last attempt that was not accepted.")),
};

export const webhookSchema = closed(webhookProperties, { title: "Webhook" });

/** What `include=stats` adds. */
const webhookStatisticsSchema = closed(
  {
    from: instant("Since when it is counted: a day, taken back to the hour."),
    to: instant("Until when."),
    attempts: Type.Number(),
    accepted: Type.Number(),
    transient: Type.Number(),
    terminal: Type.Number(),
    failure_rate: nullable(Type.Number({ description: "Share of attempts that were not accepted, 0 to 1." })),
    duration_ms_p50: nullable(Type.Number()),
    duration_ms_p95: nullable(Type.Number()),
  },
  { title: "WebhookStatistics" },
);

const listedWebhookSchema = closed(
  {
    ...webhookProperties,
    stats: Type.Optional(nullable(webhookStatisticsSchema)),
  },
  { title: "ListedWebhook" },
);

export const webhookListSchema = listOf(listedWebhookSchema, "WebhookList");

export const webhookQuerySchema = closed({
  ...listingQuery(webhookFilters).properties,
  include: Type.Optional(
    Type.Array(Type.String({ pattern: "^stats$", "x-rule": "stats" }), {
      maxItems: 1,
      description:
        "What each row shows beside: `stats`, of the last 24 hours; null where nothing was counted.",
    }),
  ),
});
