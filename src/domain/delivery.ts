import type { AttemptTrace } from "./attempt-trace.ts";
import type { FailureCategory, Outcome } from "./classify.ts";

/** How a request that is rebuilt from stored data may differ from the one that was sent. */

export const renderedParts = ["url", "headers", "signature"] as const;

export const differenceReasons = [
  "configuration_changed",
  "configuration_may_have_changed",
  "secret_rotated",
  "access_token",
] as const;

export interface RequestDifference {
  readonly parts: readonly (typeof renderedParts)[number][];
  readonly why: (typeof differenceReasons)[number];
}

export const priorities = ["high", "normal", "low"] as const;
export type Priority = (typeof priorities)[number];

/**
 * Stored states. The API adds `circuit_blocked`, which is derived on read: a delivery that waits for an open circuit
 * costs nothing until the circuit closes.
 */
export const deliveryStates = ["pending", "failed", "success", "exhausted", "skipped", "cancelled"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** States as the API shows them. */
export const deliveryStatuses = [...deliveryStates, "circuit_blocked"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Waiting for a request or for its response. */
export const waitingStates = ["pending", "failed"] as const satisfies readonly DeliveryState[];
export type WaitingState = (typeof waitingStates)[number];

/** Ended without an acceptance; a request may have been in flight. */
export const givenUpStates = ["exhausted", "cancelled"] as const satisfies readonly DeliveryState[];
export type GivenUpState = (typeof givenUpStates)[number];

/** Why a delivery became a dead letter. Reasons with `permanent_` contain the status: `permanent_client_error_410`. */
export type DeadLetterReason =
  | `permanent_${string}`
  | "max_attempts_exceeded"
  | "expired"
  | "retry_after_beyond_horizon"
  | "payload_unavailable"
  | "foreign_webhook"
  | "empty_data"
  | "internal_compose_failed";

/** Why a delivery was cancelled. */
export type CancelReason = "webhook_deleted" | "cancel_requested" | "discarded";

/**
 * Why a delivery was never sent: the state of its webhook when the event was published. Skipped deliveries can still be
 * sent with `recover`.
 */
export type SkipReason = `webhook_${"disabled" | "suspended" | "unverified"}`;

/**
 * Why a delivery was created. A manual retry reuses its delivery, so `retry` is used only for the copy of a successful
 * delivery.
 */
export const deliveryOrigins = ["publish", "retry", "replay", "test"] as const;
export type DeliveryOrigin = (typeof deliveryOrigins)[number];

/** The part of a delivery that the state machine reads and writes. */
export interface DeliveryProgress<State extends DeliveryState = DeliveryState> {
  readonly state: State;
  /** Number of requests sent so far. */
  readonly attemptCount: number;
  readonly createdAt: number;
  readonly firstAttemptAt: number | null;
  /** When the next request is due; meaningful while `pending` or `failed`. */
  readonly dueAt: number;
  readonly reason: string | null;
  /** The time of the last manual retry, from which age and schedule count; null without a manual retry. */
  readonly retried: RetriedAt | null;
}

/** When a delivery was retried manually, and how many requests had been sent by then. */
export interface RetriedAt {
  readonly at: number;
  readonly attemptCount: number;
}

/** The time from which the age of a delivery counts: its creation or its last manual retry. */
export function agesFrom({ createdAt, retried }: Pick<DeliveryProgress, "createdAt" | "retried">): number {
  return retried === null ? createdAt : retried.at;
}

/** Number of requests that count in the current schedule: all requests, or those since the last manual retry. */
export function scheduledAttempts({
  attemptCount,
  retried,
}: Pick<DeliveryProgress, "attemptCount" | "retried">): number {
  return retried === null ? attemptCount : attemptCount - retried.attemptCount;
}

/** Who retried a delivery. `name` is the name of the API key or the reference of the portal session. */
export interface RetryAuthor {
  readonly kind: "api_key" | "dashboard_session" | "portal_session";
  readonly name: string | null;
}

/** One manual retry in the history of a delivery. */
export interface DeliveryRetry extends RetriedAt {
  readonly by: RetryAuthor | null;
  /** The bulk operation that retried the delivery; null for a single retry. */
  readonly operationId: string | null;
}

/** What can hold back a due delivery, in addition to concurrency limits. */
export const gateNames = [
  "inactive",
  "no_signing_key",
  "paused",
  "retry_after",
  "rate_limit_pause",
  "timeout_pause",
  "throttle_pause",
  "failure_pause",
  "circuit_open",
  "rate_limit",
  "tenant_rate_limit",
  "order",
] as const;
export type GateName = (typeof gateNames)[number];

/** What a waiting delivery waits for. */
export const waitingReasons = ["schedule", ...gateNames, "concurrency", "capacity", "in_flight"] as const;
export type WaitingFor = (typeof waitingReasons)[number];

/**
 * A gate that held a delivery back. Recorded once, even if the delivery was held back several times in a row (WDS-150,
 * WDS-182). Unix ms.
 */
export interface DeliveryWait {
  readonly reason: GateName;
  readonly from: number;
  readonly until: number;
}

/**
 * The effect of a Retry-After. It set the time of the next attempt; it had no effect, because the schedule's delay was
 * longer or no retry followed; it could not be parsed; or the delivery would have been too old by the requested time.
 */
export const retryAfterEffects = ["lower_bound", "none", "unparsable", "beyond_horizon"] as const;

/** The `Retry-After` of a response as received. */
export interface RetryAfterNote {
  readonly value: string;
  readonly effect: (typeof retryAfterEffects)[number];
}

export interface AttemptNotes {
  readonly retryAfter: RetryAfterNote | null;
  /** The gates that held the delivery between its due time and this attempt. */
  readonly waits: readonly DeliveryWait[];
  /** Present for each attempt that was not accepted, and for a sample of accepted ones. */
  readonly trace?: AttemptTrace;
}

/** One HTTP request of a delivery, as recorded in its history (WDS-67 to 80). */
export interface AttemptRecord {
  readonly id: string;
  /** Starts at 1, without gaps. */
  readonly number: number;
  readonly outcome: Outcome;
  readonly receiverStateUnknown: boolean;
  readonly category: FailureCategory | null;
  readonly statusCode: number | null;
  /** The first 1,024 bytes of the response as text, with invalid UTF-8 replaced. */
  readonly responseSample: string | null;
  readonly errorMessage: string | null;
  readonly durationMs: number;
  readonly scheduledAt: number;
  readonly executedAt: number;
  readonly nextRetryAt: number | null;
  /** Null for most attempts: they were not held back by a gate, and their responses had no Retry-After. */
  readonly notes: AttemptNotes | null;
}
