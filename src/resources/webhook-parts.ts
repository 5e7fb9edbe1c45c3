import { attemptTimeoutMsMax, timeoutGrowthMax } from "../domain/delivery-policy.ts";
import { scheduleAttemptsMax, scheduleDelayMsMax } from "../domain/retry-schedule.ts";
import { verificationMethods } from "../domain/webhook.ts";
import {
  choice,
  decimal,
  type Fields,
  flag,
  type InputOf,
  integer,
  list,
  nullable,
  required,
  time,
} from "./field.ts";
import { closed, instant, nullableSchema, oneOf, Type } from "./schema.ts";

/** The fields of a webhook that are objects: retries, circuit breaker, agreements and verification. */

/** Payloads are kept this long by default. */
const ageMsMax = 30 * 86_400_000;

/** For one request. A shorter timeout is likely a mistake: many receivers need longer for their first TLS handshake. */
export const timeoutBounds = { min: 100, max: attemptTimeoutMsMax };

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

/** WDS-52 to 57. */
export const circuitBreakerFields = {
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

// As shown.

export const verificationSchema = closed(
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

export const retryConfigSchema = closed(
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
