/** Fields that callers may set on a webhook, through the API and the library. */
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

export const agreementFields = {
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

export const secretField = secret(
  line({
    lengthMin: 1,
    lengthMax: 256,
    doc: "`whsec_` or `whsk_` followed by base64 of 24 to 64 bytes; generated if absent.",
  }),
);

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
