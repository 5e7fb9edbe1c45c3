/**
 * Decides when an endpoint gets no requests: pauses after single responses, suspension after repeated failures
 * (EDS-11.8-3, TS16-92 to 94, 101, 112). docs/state-machine.md lists the rules.
 *
 * `EndpointHealth` is a plain object that is changed in place, because every attempt updates it; it may be stored as
 * JSON. Times in Unix ms.
 */
import type { Verdict } from "./classify.ts";
import type { DisableRules, PauseRules } from "./profile.ts";

export interface EndpointHealth {
  /** Number of terminal outcomes since the last accepted attempt. */
  consecutiveTerminal: number;
  lastAcceptedAt: number | null;
  /** Start of the period in which every received status was one of `persistentStatuses`. */
  persistentFailureSince: number | null;
  suspendedAt: number | null;
  /** When the first failure since the last accepted attempt occurred. */
  failingSince: number | null;
  lastFailedAt: number | null;
  /** When the endpoint will be gone, according to its last `Sunset` header (RFC 8594). */
  sunsetAt: number | null;
}

/**
 * Outcomes of the last eight attempts: the number of known outcomes, and one bit for each, 1 for a failure. The newest
 * is the lowest bit.
 */
export interface RecentAttempts {
  count: number;
  failures: number;
}

/** `suspend` becomes `disable` after some time; both end only when the webhook is enabled again. */
export type HealthDecision =
  | { readonly kind: "suspend"; readonly reason: "gone" | "consecutive_terminal" }
  | { readonly kind: "disable"; readonly reason: "persistent_failure" | "exhausted" };

const gone: HealthDecision = { kind: "suspend", reason: "gone" };
const consecutiveTerminal: HealthDecision = { kind: "suspend", reason: "consecutive_terminal" };
const persistentFailure: HealthDecision = { kind: "disable", reason: "persistent_failure" };
const exhaustedDecision: HealthDecision = { kind: "disable", reason: "exhausted" };

/** The health of an endpoint without any attempts. */
export function createHealth(): EndpointHealth {
  return {
    consecutiveTerminal: 0,
    lastAcceptedAt: null,
    persistentFailureSince: null,
    suspendedAt: null,
    failingSince: null,
    lastFailedAt: null,
    sunsetAt: null,
  };
}

/** Restores stored JSON; null if the value is not valid. */
export function healthFromJson(value: unknown): EndpointHealth | null {
  if (typeof value !== "object" || value === null) return null;
  const stored = value as Partial<Record<keyof EndpointHealth, unknown>>;
  const { consecutiveTerminal: count, lastAcceptedAt, persistentFailureSince, suspendedAt } = stored;
  const { failingSince, lastFailedAt, sunsetAt } = stored;
  if (typeof count !== "number" || !isTimeOrNull(lastAcceptedAt)) return null;
  if (!isTimeOrNull(persistentFailureSince) || !isTimeOrNull(suspendedAt)) return null;
  if (!isTimeOrNull(failingSince) || !isTimeOrNull(lastFailedAt) || !isTimeOrNull(sunsetAt)) return null;
  return {
    consecutiveTerminal: count,
    lastAcceptedAt,
    persistentFailureSince,
    suspendedAt,
    failingSince,
    lastFailedAt,
    sunsetAt,
  };
}

function isTimeOrNull(value: unknown): value is number | null {
  return value === null || (typeof value === "number" && Number.isFinite(value));
}

export interface HealthObservation {
  readonly verdict: Verdict;
  /** Null if the receiver sent no response. */
  readonly statusCode: number | null;
  readonly now: number;
  /**
   * Set if this attempt was the last of its delivery, which was dead-lettered as `max_attempts_exceeded` or `expired`.
   */
  readonly exhausted: { readonly firstAttemptAt: number } | null;
}

/**
 * Updates the health with one settled attempt. An accepted attempt allocates nothing.
 *
 * Attempts that were in flight when a decision was made may return the same decision again. The exception is `suspend`,
 * which is returned only once until `healthReenabled`. If two rules apply, disabling wins.
 */
export function observeHealth(
  health: EndpointHealth,
  observation: HealthObservation,
  rules: DisableRules,
): HealthDecision | null {
  const { verdict, now, exhausted } = observation;
  if (verdict.outcome === "accepted") {
    observeAccepted(health, now);
    return null;
  }
  health.failingSince ??= now;
  health.lastFailedAt = now;
  if (verdict.outcome === "terminal") health.consecutiveTerminal += 1;
  if (persistsTooLong(health, observation, rules)) return persistentFailure;
  const disabling =
    exhausted === null ? null : observeExhausted(health, exhausted.firstAttemptAt, now, rules);
  if (disabling !== null) return disabling;
  if (health.suspendedAt !== null) return null;
  const suspending = suspensionReason(health, observation, rules);
  if (suspending !== null) health.suspendedAt = now;
  return suspending;
}

function observeAccepted(health: EndpointHealth, now: number): void {
  health.consecutiveTerminal = 0;
  health.persistentFailureSince = null;
  health.failingSince = null;
  health.lastAcceptedAt = now;
}

export function noteRecent(recent: RecentAttempts, isFailure: boolean): void {
  recent.failures = ((recent.failures << 1) | (isFailure ? 1 : 0)) & recentMask;
  if (recent.count < recentMax) recent.count += 1;
}

/** Restores stored JSON; empty if the value is not valid. */
export function recentFromJson(value: unknown): RecentAttempts {
  const { count, failures } = (value ?? {}) as Partial<Record<keyof RecentAttempts, unknown>>;
  if (!Number.isSafeInteger(count) || !Number.isSafeInteger(failures)) return { count: 0, failures: 0 };
  return { count: Math.min(count as number, recentMax), failures: (failures as number) & recentMask };
}

const recentMax = 8;
const recentMask = 2 ** recentMax - 1;
const failedInARow = 3;
const inARowMask = 2 ** failedInARow - 1;

/**
 * Whether recent attempts mostly failed: the last three (all, if there were fewer), or more than half of the last
 * eight. One failure among successes is not failing, and neither is an endpoint without attempts.
 */
export function isFailing({ count, failures }: Readonly<RecentAttempts>): boolean {
  if (count >= failedInARow && (failures & inARowMask) === inARowMask) return true;
  let failed = 0;
  for (let bits = failures; bits !== 0; bits >>= 1) failed += bits & 1;
  return failed * 2 > count;
}

/** The health of a webhook in one word. `unverified` means that its receiver has not given permission yet. */
export const webhookHealthStates = [
  "healthy",
  "failing",
  "circuit_open",
  "paused",
  "disabled",
  "suspended",
  "unverified",
] as const;
export type WebhookHealthState = (typeof webhookHealthStates)[number];

/**
 * The strictest state takes precedence: first states that a person has to end, then those that the engine ends, then
 * the outcomes of attempts.
 */
export function webhookHealthState(
  status: "active" | "disabled" | "suspended" | "unverified",
  isPaused: boolean,
  isCircuitClosed: boolean,
  recent: Readonly<RecentAttempts>,
): WebhookHealthState {
  if (status !== "active") return status;
  if (isPaused) return "paused";
  if (!isCircuitClosed) return "circuit_open";
  return isFailing(recent) ? "failing" : "healthy";
}

/**
 * Handles a delivery that was dead-lettered after its last attempt, or expired after at least one attempt (TS16-112),
 * even if the expiry was found without an attempt. `firstAttemptAt` is the time of the delivery's first attempt. A
 * schedule may end within seconds, so the endpoint must also have been failing for some time.
 */
export function observeExhausted(
  health: EndpointHealth,
  firstAttemptAt: number,
  now: number,
  rules: DisableRules,
): HealthDecision | null {
  if (rules.onExhausted === "never") return null;
  if (now - (health.failingSince ?? now) < rules.exhaustedMsMin) return null;
  if (rules.onExhausted === "always") return exhaustedDecision;
  const acceptedSince = health.lastAcceptedAt !== null && health.lastAcceptedAt >= firstAttemptAt;
  return acceptedSince ? null : exhaustedDecision;
}

/** A suspended webhook that is not enabled in time becomes disabled. `suspendedAt` and `now` in Unix ms. */
export function suspensionElapsed(suspendedAt: number, now: number, rules: DisableRules): boolean {
  return now - suspendedAt >= rules.suspendedToDisabledMs;
}

/**
 * When time-based rules will disable the webhook, unless an attempt is accepted or the webhook is enabled first: at the
 * end of its suspension, or, for persistent statuses, at the first such status after the returned time. Null if no such
 * rule applies. Unix milliseconds.
 */
export function disablesAt(health: Readonly<EndpointHealth>, rules: DisableRules): number | null {
  const { suspendedAt, persistentFailureSince } = health;
  const ends = [
    ...(suspendedAt === null ? [] : [suspendedAt + rules.suspendedToDisabledMs]),
    ...(persistentFailureSince === null ? [] : [persistentFailureSince + rules.persistentMs]),
  ].filter(Number.isFinite);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Records the time after which the endpoint will be gone, as it announced; null if the date cannot be parsed. */
export function noteSunset(health: EndpointHealth, at: number | null): void {
  health.sunsetAt = at;
}

/** Clears old failures after the owner or the operator enabled the webhook again. */
export function healthReenabled(health: EndpointHealth): void {
  health.consecutiveTerminal = 0;
  health.persistentFailureSince = null;
  health.failingSince = null;
  health.suspendedAt = null;
}

/**
 * A different status ends the period of persistent failure, because the endpoint now responds differently. A failure
 * without a response does not start, end or complete the period, since it does not show whether the resource exists.
 */
function persistsTooLong(
  health: EndpointHealth,
  observation: HealthObservation,
  rules: DisableRules,
): boolean {
  const { statusCode, now } = observation;
  if (statusCode === null) return false;
  if (!rules.persistentStatuses.includes(statusCode)) {
    health.persistentFailureSince = null;
    return false;
  }
  health.persistentFailureSince ??= now;
  return now - health.persistentFailureSince >= rules.persistentMs;
}

function suspensionReason(
  health: EndpointHealth,
  { verdict, statusCode }: HealthObservation,
  rules: DisableRules,
): HealthDecision | null {
  // A truncated 410 is transient, not the receiver's final response (EDS-9.3-2).
  if (verdict.outcome === "terminal" && statusCode !== null && rules.suspendStatuses.includes(statusCode))
    return gone;
  const { consecutiveTerminalMax } = rules;
  return consecutiveTerminalMax > 0 && health.consecutiveTerminal >= consecutiveTerminalMax
    ? consecutiveTerminal
    : null;
}

/**
 * Why an endpoint is paused: a Retry-After, a 429 or a timeout without Retry-After, a throttling status (502, 504), or
 * a connection that ended without a response.
 */
export const pauseReasons = ["retry_after", "rate_limit", "timeout", "throttle", "failure"] as const;
export type PauseReason = (typeof pauseReasons)[number];

/** No request is sent to the endpoint before `until` (Unix ms). */
export interface EndpointPause {
  readonly until: number;
  readonly reason: PauseReason;
}

/** Maximum of every pause. A pause is also limited by the maximum age of the events. */
const pauseMsMax = 5 * 86_400_000;

/**
 * Limits a pause, so that one malformed field (seconds since 1970 in `Retry-After`) cannot stop an endpoint
 * permanently. Deliveries that wait when the pause begins are still never sent earlier than requested, because they
 * exceed their maximum age by the time it ends.
 */
export function boundedPause(pause: EndpointPause, now: number, ageMsMax: number): EndpointPause {
  const untilMax = now + Math.min(ageMsMax, pauseMsMax);
  return pause.until <= untilMax ? pause : { until: untilMax, reason: pause.reason };
}

/**
 * The pause that one attempt causes for all deliveries of its webhook, or null: the longest of Retry-After, the
 * category's pause and the throttle. The caller keeps the later of this pause and the current one.
 */
export function endpointPause(
  verdict: Verdict,
  statusCode: number | null,
  retryAfterMs: number | null,
  now: number,
  rules: PauseRules,
): EndpointPause | null {
  if (verdict.outcome === "accepted") return null;
  const askedMs =
    statusCode !== null && rules.retryAfterStatuses.includes(statusCode) ? (retryAfterMs ?? 0) : 0;
  const categoryMs = verdict.category === undefined ? 0 : (rules.categoriesMs[verdict.category] ?? 0);
  const throttleMs = statusCode === null ? 0 : (rules.throttleStatusesMs[statusCode] ?? 0);
  const unanswered = statusCode === null && verdict.category === "network" && verdict.receiverStateUnknown;
  const longestMs = Math.max(askedMs, categoryMs, throttleMs, unanswered ? rules.unansweredMs : 0);
  if (longestMs <= 0) return null;
  return { until: now + longestMs, reason: pauseReason(verdict, longestMs, askedMs, throttleMs) };
}

function pauseReason(verdict: Verdict, longestMs: number, askedMs: number, throttleMs: number): PauseReason {
  if (longestMs === askedMs) return "retry_after";
  if (longestMs === throttleMs) return "throttle";
  return verdict.category === "rate_limit" || verdict.category === "timeout" ? verdict.category : "failure";
}
