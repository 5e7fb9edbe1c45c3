import type { FailureCategory } from "./classify.ts";
import type {
  CircuitBreakerConfig,
  ClassificationTable,
  DisableRules,
  PauseRules,
  PayloadFormatName,
  Profile,
  ProfileHeader,
  RateLimitConfig,
  RetrySchedule,
  SignatureSchemeName,
} from "./profile.ts";
import { strictestLimit } from "./rate-limit.ts";
import { attemptsMax } from "./retry-schedule.ts";
import type { Webhook, WebhookAgreements, WebhookVerification } from "./webhook.ts";

/** Maximum of every request timeout: three times the default (WDS-123). */
export const attemptTimeoutMsMax = 90_000;

/** A growing timeout stops growing at this multiple of the first one (WDS-123). */
export const timeoutGrowthMax = 3;

/**
 * The effective settings of a webhook: its profile with its own overrides applied (TS16-108, EDS-9.2-2).
 *
 * Computed once per change of the webhook and read on every attempt.
 */
export interface DeliveryPolicy {
  readonly profile: string;
  readonly classification: ClassificationTable;
  readonly schedule: RetrySchedule;
  /** Total number of requests, including the first. */
  readonly attemptsMax: number;
  readonly retryDelayFloorsMs: Readonly<Partial<Record<FailureCategory, number>>>;
  readonly attemptsMaxByCategory: Readonly<Partial<Record<FailureCategory, number>>>;
  readonly ageMsMax: number;
  readonly sunset: Profile["sunset"];
  /** Whether a 308 changes the stored URL. True only if both the profile and the owner allow it. */
  readonly followPermanentRedirect: boolean;
  readonly timeoutMs: number;
  readonly timeoutGrowthFactor: number;
  readonly pauses: PauseRules;
  readonly disable: DisableRules;
  readonly circuitBreaker: CircuitBreakerConfig;
  readonly circuitBreakerIgnoresStatuses: readonly number[];
  readonly rateLimit: RateLimitConfig | null;
  readonly signatureSchemes: readonly SignatureSchemeName[];
  readonly payloadFormat: PayloadFormatName;
  readonly emptyDataRefused: boolean;
  readonly headers: readonly ProfileHeader[];
}

/** The caller must have found the webhook's profile and validated the overrides. */
export function resolvePolicy(webhook: Webhook, profile: Profile): DeliveryPolicy {
  const { retry } = webhook;
  const schedule = retry.schedule ?? profile.schedule;
  return {
    profile: profile.name,
    classification: agreedClassification(profile.classification, webhook.agreements),
    schedule,
    attemptsMax: attemptsMax(schedule),
    retryDelayFloorsMs: profile.retryDelayFloorsMs,
    attemptsMaxByCategory: profile.attemptsMaxByCategory,
    sunset: profile.sunset,
    followPermanentRedirect:
      profile.registration.permanentRedirectAllowed && webhook.agreements.followPermanentRedirect,
    ageMsMax: retry.ageMsMax ?? profile.ageMsMax,
    timeoutMs: retry.timeoutMs ?? profile.timeoutMs,
    timeoutGrowthFactor: retry.timeoutGrowthFactor ?? profile.timeoutGrowthFactor,
    pauses: profile.pauses,
    disable: profile.disable,
    circuitBreaker: { ...profile.circuitBreaker, ...webhook.circuitBreaker },
    circuitBreakerIgnoresStatuses: profile.circuitBreakerIgnoresStatuses,
    rateLimit: effectiveRate(webhook.rateLimit ?? profile.rateLimit, webhook.verification),
    signatureSchemes: effectiveSchemes(webhook, profile),
    payloadFormat: webhook.payloadFormat ?? profile.payloadFormats[0],
    emptyDataRefused: profile.emptyDataRefused,
    headers: effectiveHeaders(webhook, profile),
  };
}

/**
 * Jitter for explicit delay lists. As in the default profile's schedule, a retry is never earlier than the listed
 * delay.
 */
export const listJitter = { from: 1, to: 1.2 };

/**
 * The policy with a connection's own delays between requests. Returns the same policy if the connection has no delays.
 */
export function withDelays(policy: DeliveryPolicy, delaysMs: readonly number[] | undefined): DeliveryPolicy {
  if (delaysMs === undefined) return policy;
  const schedule = { kind: "list", delaysMs, jitter: listJitter } as const;
  return { ...policy, schedule, attemptsMax: attemptsMax(schedule) };
}

/** The profile's table with the changes that owner and receiver agreed on (EDS-9.2-2). */
function agreedClassification(
  table: ClassificationTable,
  agreements: WebhookAgreements,
): ClassificationTable {
  const { acceptMultiStatus, idempotencyEnforced } = agreements;
  if (!acceptMultiStatus && !idempotencyEnforced) return table;
  return {
    ...table,
    statuses: {
      ...table.statuses,
      ...(acceptMultiStatus ? { 207: { outcome: "accepted" } } : {}),
      // 409 means that the first request is still being processed. Nothing is wrong with the event.
      ...(idempotencyEnforced ? { 409: { outcome: "transient", category: "client_error" } } : {}),
    },
  };
}

/**
 * The lower of the webhook's own rate and the rate that its receiver granted. The grant is per whole minute
 * (CEW-4.2.2-4), so it allows no additional burst.
 */
function effectiveRate(
  own: RateLimitConfig | null,
  { allowedRatePerMinute }: WebhookVerification,
): RateLimitConfig | null {
  if (allowedRatePerMinute === null) return own;
  return strictestLimit([own, { requestsPerMinute: allowedRatePerMinute, burst: 1 }]);
}

/** Each delivery to a receiver that granted permission in a handshake names the sender (CEW-2.1-6, CEW-4.1.2-2). */
function effectiveHeaders(webhook: Webhook, profile: Profile): readonly ProfileHeader[] {
  const headers = webhook.migrationHeaders
    ? [...profile.headers, ...profile.migrationHeaders]
    : [...profile.headers];
  const isTold = headers.some((header) => "value" in header && header.value === requestOrigin.value);
  if (webhook.verification.method === "cloudevents" && !isTold) headers.push(requestOrigin);
  return headers;
}

const requestOrigin = { name: "WebHook-Request-Origin", value: "request_origin" } as const;

/** While a webhook migrates, messages carry the signature headers of both families. */
function effectiveSchemes(webhook: Webhook, profile: Profile): readonly SignatureSchemeName[] {
  const schemes = webhook.schemes ?? profile.signatureSchemes;
  if (!webhook.migrationHeaders) return schemes;
  const sources = new Set(
    profile.migrationHeaders.map((header) => ("value" in header ? header.value : null)),
  );
  const more: SignatureSchemeName[] = [];
  if (sources.has("webhook_signature")) more.push("v1a", "v1");
  if (sources.has("x_webhook_signature")) more.push("x-webhook-v1");
  return [...new Set([...schemes, ...more])];
}

/** Timeout of one whole request in ms, including connecting. `attemptNumber` counts from 1 (WDS-123). */
export function attemptTimeoutMs(
  policy: Pick<DeliveryPolicy, "timeoutMs" | "timeoutGrowthFactor">,
  attemptNumber: number,
): number {
  const growth = Math.min(policy.timeoutGrowthFactor ** (attemptNumber - 1), timeoutGrowthMax);
  return Math.min(Math.round(policy.timeoutMs * growth), attemptTimeoutMsMax);
}
