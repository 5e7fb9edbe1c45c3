import type { FailureCategory } from "./outcome.ts";
import type {
  CircuitBreakerConfig,
  ClassificationTable,
  DisableRules,
  PauseRules,
  PayloadFormatName,
  Profile,
  RateLimitConfig,
  RetrySchedule,
  SignatureSchemeName,
} from "./profile.ts";
import { attemptsMax } from "./retry-schedule.ts";
import type { Webhook } from "./webhook.ts";

/** No request lasts longer, whatever a webhook asks for: three times the default timeout (WDS-123). */
export const attemptTimeoutMsMax = 90_000;

/** A growing timeout stops at this multiple of the first one (WDS-123). */
const timeoutGrowthMax = 3;

/**
 * What is in force for a webhook: its profile with its own overrides applied (TS16-108, EDS-9.2-2).
 *
 * Computed once per change of the webhook and read on every attempt.
 */
export interface DeliveryPolicy {
  readonly profile: string;
  readonly classification: ClassificationTable;
  readonly schedule: RetrySchedule;
  /** Requests in all, the first one included (C-3). */
  readonly attemptsMax: number;
  readonly retryDelayFloorsMs: Readonly<Partial<Record<FailureCategory, number>>>;
  readonly ageMsMax: number;
  readonly timeoutMs: number;
  readonly timeoutGrowthFactor: number;
  readonly pauses: PauseRules;
  readonly disable: DisableRules;
  readonly circuitBreaker: CircuitBreakerConfig;
  readonly circuitBreakerIgnoresStatuses: readonly number[];
  readonly rateLimit: RateLimitConfig | null;
  readonly signatureSchemes: readonly SignatureSchemeName[];
  readonly payloadFormat: PayloadFormatName;
}

/** The caller has found the profile named by the webhook and has validated the overrides. */
export function resolvePolicy(webhook: Webhook, profile: Profile): DeliveryPolicy {
  const { retry } = webhook;
  const schedule = retry.schedule ?? profile.schedule;
  return {
    profile: profile.name,
    classification: profile.classification,
    schedule,
    attemptsMax: attemptsMax(schedule),
    retryDelayFloorsMs: profile.retryDelayFloorsMs,
    ageMsMax: retry.ageMsMax ?? profile.ageMsMax,
    timeoutMs: retry.timeoutMs ?? profile.timeoutMs,
    timeoutGrowthFactor: retry.timeoutGrowthFactor ?? profile.timeoutGrowthFactor,
    pauses: profile.pauses,
    disable: profile.disable,
    circuitBreaker: { ...profile.circuitBreaker, ...webhook.circuitBreaker },
    circuitBreakerIgnoresStatuses: profile.circuitBreakerIgnoresStatuses,
    rateLimit: webhook.rateLimit ?? profile.rateLimit,
    signatureSchemes: webhook.schemes ?? profile.signatureSchemes,
    payloadFormat: webhook.payloadFormat ?? profile.payloadFormats[0],
  };
}

/** Time for one whole request in ms, connecting included (C-12). `attemptNumber` counts from 1 (C-3, WDS-123). */
export function attemptTimeoutMs(
  policy: Pick<DeliveryPolicy, "timeoutMs" | "timeoutGrowthFactor">,
  attemptNumber: number,
): number {
  const growth = Math.min(policy.timeoutGrowthFactor ** (attemptNumber - 1), timeoutGrowthMax);
  return Math.min(Math.round(policy.timeoutMs * growth), attemptTimeoutMsMax);
}
