/** What callers may set on a webhook, through the API as through the library. */
import { urlLengthMax } from "../egress/url-policy.ts";
import { payloadFormats, signatureSchemeNames } from "../profile.ts";
import { profiles } from "../profiles/index.ts";
import { orderingGuarantees, tracePolicies, verificationMethods } from "../webhook.ts";
import {
  choice,
  decimal,
  document,
  flag,
  headers,
  integer,
  line,
  list,
  nullable,
  object,
  objectOrText,
  onlyForCreation,
  required,
  requiredToCreate,
  secret,
  text,
  time,
  url,
} from "./field.ts";
import type { Fields, Group, InputOf } from "./field.ts";
import { eventPatternField, tenantIdField } from "./names.ts";
import { rateLimitFields } from "./tenant.ts";
import { credentialFields, headerBounds } from "./webhook-credentials.ts";
import { retryFields, timeoutBounds } from "./webhook-retry.ts";

/** WDS-52 to 57. */
const circuitBreakerFields = {
  enabled: flag(),
  errorThresholdPercentage: decimal({
    min: 1,
    max: 100,
    doc: "Opens when so many calls of a window failed.",
  }),
  minimumThroughput: integer({ min: 1, max: 1_000_000, doc: "Calls of a window before it may open." }),
  windowSizeMs: integer({ min: 1_000, max: 3_600_000, doc: "How far back calls count." }),
  sleepWindowMs: integer({ min: 100, max: 86_400_000, doc: "How long it stays open before a probe." }),
  halfOpenMaxCalls: integer({ min: 1, max: 100, doc: "Probes at once." }),
} satisfies Fields;

export const circuitBreakerShown = {
  ...circuitBreakerFields,
  forceOpenUntil: nullable(time({ doc: "Opened by hand until then." })),
} satisfies Fields;

export const agreementFields = {
  acceptMultiStatus: flag({ doc: "207 counts as accepted." }),
  followPermanentRedirect: flag({
    doc: "308 changes the stored URL; only with profiles that allow it.",
  }),
  idempotencyEnforced: flag({
    doc: "The receiver enforces Idempotency-Key, so its 409 is retried.",
  }),
} satisfies Fields;

const verificationFields = {
  method: required(choice(verificationMethods)),
  requestedRatePerMinute: nullable(
    integer({ min: 1, max: 1_000_000, doc: "`cloudevents`: asked for in the handshake." }),
  ),
  whenUnsupported: choice(["refuse", "slow"], {
    default: "refuse",
    doc: "`cloudevents`: a receiver that does not know the handshake gets nothing, or one request a minute.",
  }),
} satisfies Fields;
export type VerificationInput = InputOf<typeof verificationFields>;

const signing: Group = {
  api: "signing",
  title: "Signing",
  doc: "`v1` is HMAC-SHA256 and `v1a` Ed25519 of Standard Webhooks; the others are `X-Webhook-Signature` and RFC 9421. Null is as the profile says, which also says which are possible.",
  isComplete: true,
};

export const secretField = secret(
  line({
    lengthMin: 1,
    lengthMax: 256,
    doc: "`whsec_` or `whsk_` and the base64 of 24 to 64 bytes; generated when absent.",
  }),
);

export const webhookFields = {
  url: requiredToCreate(
    url({
      lengthMax: urlLengthMax,
      doc: "https, and a public address.",
      examples: ["https://example.com/hooks"],
    }),
  ),
  events: requiredToCreate(
    list(eventPatternField, {
      countMax: 100,
      isSet: true,
      doc: "Event types; `order.*` takes all below, `*` all.",
    }),
  ),
  secret: onlyForCreation(secretField),
  tenantId: onlyForCreation(tenantIdField),
  description: text({ lengthMax: 1_024, doc: "For people." }),
  ownerId: nullable(line({ lengthMin: 1, lengthMax: 255 })),
  active: flag({ doc: "False to keep it without sending." }),
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
  payloadFormat: nullable(choice(payloadFormats, { doc: "One of the profile's; null is its first." })),
  ...credentialFields,
  http2: nullable(flag({ doc: "HTTP/2 where the receiver offers it." })),
  migrationHeaders: nullable(
    flag({ doc: "Sends the headers of both families while a receiver moves from one to the other." }),
  ),
  traceContext: nullable(
    choice(tracePolicies, {
      doc: "What the receiver hears of the trace that an event was published in. `forward`: `traceparent` where the publisher sent one; `forward_with_state`: `tracestate` as well, for receivers that agreed to it; `always`: a `traceparent` for every event; `off`: nothing.",
    }),
  ),
  agreements: nullable(
    object(agreementFields, {
      title: "AgreementsInput",
      doc: "What owner and receiver agreed on beside the profile; what is absent stays.",
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
  metadata: document({ bytesMax: 16 * 1_024, doc: "Yours; kept and returned as it is." }),
  verification: nullable(
    objectOrText(verificationFields, {
      shorthand: "method",
      doc: "How the receiver shows that it wants the events: `challenge` echoes a text, `cloudevents` permits by OPTIONS or callback, `dns` is a TXT record of its domain. Until then the webhook is `unverified`.",
      examples: ["challenge", { method: "cloudevents", requested_rate_per_minute: 120 }],
    }),
  ),
  verifyUrl: flag({ doc: 'True is `verification: "challenge"`.' }),
} satisfies Fields;
/** Everything a caller may set. Absent keeps the value on update and takes the default on create. */
export type WebhookInput = InputOf<typeof webhookFields>;

const { tenantId, ownerId, url: urlField, events, description, bearerTokenIn } = webhookFields;
const {
  http2,
  migrationHeaders,
  traceContext,
  agreements,
  ordering,
  headers: headersField,
  metadata,
} = webhookFields;
/** Of these a webhook shows what is stored of it; of the others what is in force, or less. */
export const webhookShownAsStored = {
  ...{ tenantId, ownerId, url: urlField, events, description, bearerTokenIn },
  ...{ http2, migrationHeaders, traceContext, agreements, ordering, headers: headersField, metadata },
} satisfies Fields;
