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

export const webhookHealthSchema = oneOf(webhookHealthStates, {
  description:
    "One state per webhook: `suspended`, `disabled` or `unverified` by its status, else `paused` by hand, else " +
    "`circuit_open` while its circuit is not closed, else `failing` when its last three attempts (all, where there were " +
    "fewer) or most of the last eight failed, else `healthy`.",
});

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
  health: webhookHealthSchema,
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

/** What `include=backlog` adds. */
const webhookWaitingSchema = closed(
  {
    total: Type.Integer({ minimum: 0, description: "Of all priorities, counted to 10,000." }),
    more: Type.Boolean({ description: "More than 10,000 wait." }),
    oldest_created_at: nullable(instant("When the oldest was made. Null when nothing waits.")),
  },
  { title: "WebhookWaiting" },
);

const listedWebhookSchema = closed(
  {
    ...webhookProperties,
    stats: Type.Optional(nullable(webhookStatisticsSchema)),
    backlog: Type.Optional(nullable(webhookWaitingSchema)),
  },
  { title: "ListedWebhook" },
);

export const webhookListSchema = closed(
  {
    ...listOf(listedWebhookSchema, "WebhookList").properties,
    searched_to: nullable(
      instant(
        "In the order of failure rates: webhooks that failed last before this time were not looked at. Null otherwise.",
      ),
    ),
    complete: Type.Boolean({
      description:
        "False when not everything could be put in order within the time of one page: what was not looked at stands at the end.",
    }),
    health_counts: Type.Optional(
      closed(
        Object.fromEntries(
          webhookHealthStates.map((state) => [state, Type.Integer({ minimum: 0 })]),
        ) as Record<WebhookHealthState, ReturnType<typeof Type.Integer>>,
        { title: "WebhookHealthCounts", description: "With `include=health_counts`." },
      ),
    ),
    ranked_at: nullable(
      instant(
        "When the order was found. That of more than 500 webhooks is kept for up to a minute, and found anew while it is shown. Null where it is as of now.",
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
        "x-rule": "stats, backlog, health_counts, or several with commas between them",
      }),
      {
        maxItems: includeNames.length,
        description:
          "What each row shows beside: `stats` of the last 24 hours, null where nothing was counted; `backlog`, what " +
          "waits now, null where there was no time to look. `health_counts` adds to the page how many webhooks are in each " +
          "state of health, whatever the page and the filters of states show. May be repeated, or joined by commas.",
      },
    ),
  ),
});
