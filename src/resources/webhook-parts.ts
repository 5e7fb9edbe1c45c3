import { attemptTimeoutMsMax, timeoutGrowthMax } from "../domain/delivery-policy.ts";
import { urlLengthMax } from "../domain/egress/url-policy.ts";
import { customHeaderLimits } from "../domain/http/request-headers.ts";
import { scheduleAttemptsMax, scheduleDelayMsMax } from "../domain/retry-schedule.ts";
import { verificationMethods } from "../domain/webhook.ts";
import {
  choice,
  decimal,
  type Fields,
  flag,
  headers,
  type InputOf,
  integer,
  line,
  list,
  nullable,
  object,
  required,
  secret,
  text,
  time,
  url,
  word,
} from "./field.ts";
import {
  closed,
  instant,
  instantOrNull,
  nullableSchema,
  oneOf,
  type Properties,
  shownSchemaOf,
  textOrNull,
  Type,
} from "./schema.ts";

/** The fields of a webhook that are objects: retries, circuit breaker, agreements and verification. */

/** Payloads are kept this long by default. */
const ageMsMax = 30 * 86_400_000;

/**
 * Applies to one request. A timeout below the minimum is likely a mistake, because many receivers need longer for their
 * first TLS handshake.
 */
export const timeoutBounds = { min: 100, max: attemptTimeoutMsMax };

const delay = integer({ min: 0, max: scheduleDelayMsMax });

/** `retry_config` contains either the exponential backoff fields of WDS-46 to WDS-51, or a list of delays. */
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
    // One less, because the first request needs no delay.
    countMax: scheduleAttemptsMax - 1,
    doc: "Delays between requests in milliseconds. Replaces the exponential backoff fields.",
    examples: [[5_000, 60_000, 600_000]],
  }),
  maxAgeMs: integer({ min: 1_000, max: ageMsMax, doc: "A delivery older than this becomes a dead letter." }),
} satisfies Fields;
export type RetryInput = InputOf<typeof retryFields>;

export const circuitBreakerFields = {
  enabled: flag(),
  errorThresholdPercentage: decimal({
    min: 1,
    max: 100,
    doc: "The circuit opens when this share of the calls in a window has failed.",
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
  forceOpenUntil: nullable(time({ doc: "Manually forced open until this time." })),
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

export const verificationFields = {
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

// The form shown in responses.

export const verificationSchema = closed(
  {
    method: oneOf(verificationMethods),
    state: oneOf(["none", "pending", "granted", "refused"]),
    detail: textOrNull("The request and the response."),
    granted_at: instantOrNull("When the receiver permitted deliveries."),
    requested_rate_per_minute: nullableSchema(Type.Integer()),
    allowed_rate_per_minute: nullableSchema(
      Type.Integer("The rate that the receiver permits; null if unlimited."),
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

export const retryConfigSchema = closed(
  {
    max_attempts: Type.Integer(),
    base_delay_ms: nullableSchema(Type.Number("Null if `schedule_ms` is set.")),
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

/** Credentials that a webhook sends to its receiver in addition to signatures. Every secret is write-only. */

const pem = (doc: string) => required(text({ lengthMin: 1, lengthMax: 16_384, doc }));

const clientCertificateFields = {
  certificatePem: pem("The certificate and its chain, in PEM."),
  privateKeyPem: secret(pem("Its private key, in PEM and without a passphrase; never shown.")),
} satisfies Fields;
export type ClientCertificateInput = InputOf<typeof clientCertificateFields>;

const tokenRequestText = { lengthMin: 1, lengthMax: 1_024 };

/** OAuth 2.0 client credentials (RFC 6749, 4.4). */
const oauth2Fields = {
  tokenUrl: url({ lengthMax: urlLengthMax, doc: "Validated like the webhook's URL." }),
  clientId: line({ lengthMin: 1, lengthMax: 512 }),
  clientSecret: secret(
    line({
      lengthMin: 1,
      lengthMax: 2_048,
      doc: "Never shown. Required with the first client, and with a new token_url.",
    }),
  ),
  scope: nullable(line(tokenRequestText)),
  audience: nullable(line(tokenRequestText)),
  authentication: choice(["basic", "body"], {
    default: "basic",
    doc: "How the client authenticates at the token URL.",
  }),
} satisfies Fields;
const { clientSecret: _secret, ...oauth2Shown } = oauth2Fields;
export type OAuth2Input = InputOf<typeof oauth2Fields>;

export const headerBounds = {
  countMax: customHeaderLimits.countMax,
  valueLengthMax: customHeaderLimits.valueBytesMax,
};

export const credentialFields = {
  bearerToken: nullable(
    secret(
      word({
        lengthMax: 2_048,
        // The characters allowed by RFC 6750. Others cannot be sent unchanged in the header.
        pattern: "^[A-Za-z0-9\\-._~+\\/]+={0,2}$",
        rule: "a token of letters, digits and -._~+/",
        doc: "Sent as `Authorization: Bearer`; stored encrypted and never shown.",
      }),
    ),
  ),
  bearerTokenIn: nullable(
    choice(["header", "query"], {
      doc: "`query` sends the token as the `access_token` query parameter, for receivers that do not accept the header.",
    }),
  ),
  credentialHeaders: nullable(
    secret(
      headers({
        ...headerBounds,
        doc: "Like `headers`, but secret: stored encrypted; responses show only the names.",
        examples: [{ "X-Api-Key": "…" }],
      }),
    ),
  ),
  clientCertificate: nullable(
    object(clientCertificateFields, {
      title: "ClientCertificateInput",
      doc: "For mutual TLS; certificate and key change together.",
    }),
  ),
  oauth2: nullable(
    object(oauth2Fields, {
      title: "OAuth2ClientInput",
      doc: "Client credentials (RFC 6749, section 4.4) used to obtain the bearer token for deliveries.",
      examples: [{ token_url: "https://auth.example.com/token", client_id: "posthorn", client_secret: "…" }],
    }),
  ),
} satisfies Fields;

// The visible parts of a webhook's credentials. Every secret is write-only.

const clientCertificateSchema = closed(
  {
    subject: Type.String(),
    issuer: Type.String(),
    fingerprint_sha256: Type.String("Hexadecimal, separated by colons."),
    expires_at: instant("When it expires."),
    warning: textOrNull("Set from two weeks before expiry."),
  },
  { title: "ClientCertificate" },
);

const oauth2Schema = shownSchemaOf(oauth2Shown, {
  title: "OAuth2Client",
  description: "The secret is not shown.",
});

export const credentialProperties = {
  has_bearer_token: Type.Boolean(),
  bearer_token_in: oneOf(["header", "query"]),
  credential_headers: Type.Unsafe<Record<string, string>>({
    type: "object",
    additionalProperties: { type: "string" },
    description: "Only the names; every value is `…`.",
  }),
  client_certificate: nullableSchema(clientCertificateSchema),
  oauth2: nullableSchema(oauth2Schema),
} satisfies Properties;
