import { circuitStates } from "../domain/circuit-breaker.ts";
import { urlLengthMax } from "../domain/egress/url-policy.ts";
import { type WebhookHealthState, webhookHealthStates } from "../domain/endpoint-health.ts";
import { type Profile, payloadFormats, signatureSchemeNames } from "../domain/profile.ts";
import { profiles } from "../domain/profiles/index.ts";
import {
  orderingGuarantees,
  tracePolicies,
  type Webhook,
  webhookDefaults,
  webhookStatuses,
} from "../domain/webhook.ts";
import {
  choice,
  document,
  type Field,
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
  requiredToCreate,
  text,
  url,
  without,
} from "./field.ts";
import { eventPatternField, eventTypeField, rateLimitFields, secretField, tenantIdField } from "./names.ts";
import {
  closed,
  idParam,
  idSchema,
  instant,
  instantOrNull,
  listingQuery,
  listOf,
  nullableSchema,
  oneOf,
  shownProperties,
  shownSchemaOf,
  tenantIdSchema,
  textOrNull,
  Type,
} from "./schema.ts";
import { defineResource, type OptionTable } from "./resource.ts";
import {
  agreementFields,
  circuitBreakerFields,
  circuitBreakerShown,
  credentialFields,
  credentialProperties,
  headerBounds,
  retryConfigSchema,
  retryFields,
  timeoutBounds,
  verificationFields,
  verificationSchema,
} from "./webhook-parts.ts";

const signing: Group = {
  api: "signing",
  title: "Signing",
  doc: "`v1` (HMAC-SHA256) and `v1a` (Ed25519) are the schemes of Standard Webhooks. The other values select the `X-Webhook-Signature` header and HTTP Message Signatures (RFC 9421). If null, the profile's default applies; the profile lists the allowed schemes.",
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
      doc: "Event types; `order.*` matches all types that begin with `order.`, `*` matches all types.",
    }),
  ),
  secret: onlyForCreation(secretField),
  tenantId: onlyForCreation(tenantIdField),
  description: text({ lengthMax: 1_024, doc: "Free-form description." }),
  ownerId: nullable(line({ lengthMin: 1, lengthMax: 255 })),
  active: flag({ doc: "If false, the webhook is kept but nothing is sent." }),
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
    choice(payloadFormats, { doc: "A payload format of the profile; null selects its first format." }),
  ),
  ...credentialFields,
  http2: nullable(flag({ doc: "Use HTTP/2 if the receiver offers it." })),
  migrationHeaders: nullable(
    flag({ doc: "Sends the headers of both families while a receiver migrates from one to the other." }),
  ),
  traceContext: nullable(
    choice(tracePolicies, {
      doc: "What the receiver gets of the trace in which an event was published. `forward`: `traceparent` if the publisher sent one; `forward_with_state`: also `tracestate`, for receivers that agreed to it; `always`: a `traceparent` for every event; `off`: nothing.",
    }),
  ),
  agreements: nullable(
    object(agreementFields, {
      title: "AgreementsInput",
      doc: "Agreements between owner and receiver that change the profile; omitted fields keep their values.",
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
      doc: "How the receiver proves that it wants the events: with `challenge` it returns a string, with `cloudevents` it grants permission by OPTIONS or callback, with `dns` its domain has a TXT record. Until then the webhook is `unverified`.",
      examples: ["challenge", { method: "cloudevents", requested_rate_per_minute: 120 }],
    }),
  ),
  verifyUrl: flag({ doc: 'True means `verification: "challenge"`.' }),
} satisfies Fields;
/** Everything a caller may set. An absent field keeps its value on update and takes the default on create. */
export type WebhookInput = InputOf<typeof webhookFields>;

/** Fields whose stored form differs from the input; see features/webhooks. */
const withOwnCode = [
  "secret",
  "active",
  "bearerToken",
  "credentialHeaders",
  "clientCertificate",
  "oauth2",
  "retry",
  "timeoutMs",
  "circuitBreaker",
  "rateLimit",
  "verification",
  "verifyUrl",
] as const;

/**
 * Stored unchanged; null resets them to `webhookDefaults`. A new field belongs to this group unless it is named here.
 */
export const webhookPlainFields = without(webhookFields, [...withOwnCode, "url", "tenantId", "agreements"]);

/** For these fields, a webhook shows the stored value. For the others, it shows the effective value or a part of it. */
export const webhookShownAsStored = asStored({
  tenantId: webhookFields.tenantId,
  ownerId: webhookFields.ownerId,
  ...without(webhookFields, [...withOwnCode, "tenantId", "ownerId", "profile", "schemes", "payloadFormat"]),
});

/** Null in the input resets a field to its default, so only fields without a default can be null in the output. */
function asStored<Name extends keyof Webhook>(
  fields: Readonly<Record<Name, Field>>,
): { readonly [Each in Name]: Field<Webhook[Each]> } {
  const defaults: Partial<Webhook> = webhookDefaults;
  const shown = Object.entries<Field>(fields).map(([name, field]) => {
    const isNull = (defaults[name as Name] ?? null) === null;
    return [name, { ...field, isNullable: field.isNullable && isNull }];
  });
  return Object.fromEntries(shown) as { readonly [Each in Name]: Field<Webhook[Each]> };
}

/** Fields that contradict each other, and a message that continues a sentence about each of them. */
type Contradiction = readonly [fields: readonly string[], message: string];

/**
 * Rules that involve several fields. They are checked after a change has been merged. Rules about credentials are in
 * features/webhooks.
 */
export function* webhookRules(webhook: Webhook, profile: Profile): Iterable<Contradiction> {
  const { name, payloadFormats: formats, signatureSchemesAllowed: schemes, registration } = profile;
  if (webhook.payloadFormat !== null && !formats.includes(webhook.payloadFormat))
    yield [["payload_format", "profile"], `the profile ${name} supports the formats ${formats.join(", ")}`];
  if (webhook.schemes?.some((scheme) => !schemes.includes(scheme)) === true)
    yield [
      ["signing.schemes", "profile"],
      `the profile ${name} supports the signatures ${schemes.join(", ")}`,
    ];
  if (webhook.migrationHeaders && profile.migrationHeaders.length === 0)
    yield [["migration_headers", "profile"], `the profile ${name} has no headers for migrations`];
  if (webhook.agreements.followPermanentRedirect && !registration.permanentRedirectAllowed)
    yield [
      ["agreements.follow_permanent_redirect", "profile"],
      `the profile ${name} does not follow redirects`,
    ];
}

/** Fields that customers may set in the portal; only the tenant may set the others. */
const customerFields = [
  "url",
  "events",
  "description",
  "active",
  "headers",
  "rateLimit",
  "timeoutMs",
  "ordering",
  "bearerToken",
] as const satisfies readonly (keyof WebhookInput)[];

const repeated = { countMin: 0, countMax: 100, doc: "May be repeated." };

/**
 * All sort orders except `created` begin with the webhooks that need attention; those without failures or a backlog
 * come last.
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
      "One state per webhook, the first that applies: `suspended`, `disabled` or `unverified` (its status); `paused` (manually); `circuit_open` " +
      "(its circuit is not closed); `failing` (the last three attempts, or most of the last eight, failed); " +
      "`healthy`. May be repeated.",
  }),
  failing: flag({
    doc: "True for webhooks with a failed attempt since the last accepted one, false for all others.",
  }),
  paused: flag({ doc: "True for webhooks that were paused manually, false for all others." }),
  text: line({
    lengthMin: 1,
    lengthMax: 255,
    api: "q",
    doc: "Case-insensitive substring of the URL or the description.",
  }),
  sort: choice(webhookOrders, {
    default: "created",
    doc:
      "`created`: newest first. `last_failure`: most recent failure first, webhooks without failures last. `failures`: most " +
      "failed attempts in the last 24 hours first. `failure_rate`: of the last 24 hours; equal rates are ordered by number of failed " +
      "attempts. `backlog`: most waiting deliveries first, counted up to 10,000 per webhook; webhooks beyond that are ordered by number of " +
      "attempts in the last 24 hours.",
  }),
  tenantId: tenantIdField,
} satisfies Fields;

export const webhookHealthSchema = oneOf(webhookHealthStates, {
  description:
    "The first that applies: `suspended`, `disabled` or `unverified` (its status); `paused` (manually); " +
    "`circuit_open` (its circuit is not closed); `failing` (its last three attempts failed, or all if there were " +
    "fewer, or most of the last eight); `healthy`.",
});

const webhookProperties = {
  id: idSchema("the webhook"),
  ...shownProperties(without(webhookShownAsStored, ["ordering"])),
  tenant_id: tenantIdSchema,
  agreements: shownSchemaOf(agreementFields, { title: "Agreements" }),
  ordering_guarantee: oneOf(orderingGuarantees),
  active: Type.Boolean(),
  status: oneOf(webhookStatuses),
  status_reason: textOrNull("Why it is not active."),
  health: webhookHealthSchema,
  pause: nullableSchema(
    closed(
      {
        since: instant("When it was paused."),
        until: instantOrNull("When it ends automatically."),
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
  ...credentialProperties,
  secret: textOrNull("Masked, except in the response that created it."),
  created_at: instant("When it was created."),
  updated_at: instant("When it was last changed."),
  revision: Type.Integer({
    minimum: 1,
    description: "Incremented by each change of its configuration and keys.",
  }),
  last_success_at: instantOrNull("Time of the last accepted delivery."),
  last_failure_at: instantOrNull("Time of the last attempt that was not accepted."),
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
    failure_rate: nullableSchema(Type.Number("Share of attempts that were not accepted, 0 to 1.")),
    duration_ms_p50: nullableSchema(Type.Number()),
    duration_ms_p95: nullableSchema(Type.Number()),
  },
  { title: "WebhookStatistics" },
);

/** Added by `include=backlog`. */
const webhookWaitingSchema = closed(
  {
    total: Type.Integer({ minimum: 0, description: "Total of all priorities, counted up to 10,000." }),
    more: Type.Boolean("Whether more than 10,000 deliveries are waiting."),
    oldest_created_at: instantOrNull(
      "When the oldest waiting delivery was created; null if none is waiting.",
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
    searched_to: instantOrNull(
      "When sorted by failure rate, webhooks whose last failure is before this time were not examined; otherwise null.",
    ),
    complete: Type.Boolean(
      "False if the time limit did not allow sorting all webhooks: those not examined are at the end.",
    ),
    health_counts: Type.Optional(
      closed(
        Object.fromEntries(
          webhookHealthStates.map((state) => [state, Type.Integer({ minimum: 0 })]),
        ) as Record<WebhookHealthState, ReturnType<typeof Type.Integer>>,
        { title: "WebhookHealthCounts", description: "With `include=health_counts`." },
      ),
    ),
    ranked_at: instantOrNull(
      "When the order was computed. The order of more than 500 webhooks is cached for up to a minute and refreshed in the background. Null if current.",
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

export const webhookResource = defineResource({
  noun: "webhook",
  title: "Webhook",
  path: "/v1/webhooks",
  tag: "Webhooks",
  key: idParam("the webhook"),
  input: webhookFields,
  shown: webhookShownAsStored,
  filters: webhookFilters,
  customerFields,
  create: {
    title: "WebhookCreate",
    examples: [{ url: "https://example.com/hooks", events: ["order.*"] }],
  },
  update: {
    title: "WebhookUpdate",
    description: "Omitted fields keep their values, for both PUT and PATCH.",
    examples: [{ active: false }],
  },
  schemas: { one: webhookSchema, list: webhookListSchema, listQuery: webhookQuerySchema },
});

export const webhookOptions: OptionTable<typeof webhookFields> = {
  description: "--description <text>",
  profile: ["--profile <name>", "delivery profile"],
  ordering: ["--ordering <guarantee>", ""],
  timeoutMs: ["--timeout-ms <ms>", "timeout of a request"],
  rateLimit: ["--rate-limit <per-minute>", "requests per minute"],
  verification: ["--verification <method>", ""],
  active: ["--active <boolean>", "false creates or keeps it disabled"],
};

export const webhookFilterOptions: OptionTable<typeof webhookFilters> = {
  statuses: "--status <status>",
  circuits: "--circuit <state>",
  paused: "--paused <boolean>",
  health: "--health <state>",
  failing: "--failing <boolean>",
  text: "--search <text>",
  sort: "--sort <order>",
};

/** Labels of plain settings on the dashboard's form. Their kind and bounds follow from the field. */
export const webhookFormLabels = {
  timeoutMs: "Timeout, ms",
} as const satisfies { readonly [Name in keyof WebhookInput]?: string };
