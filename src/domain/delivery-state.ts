/**
 * The delivery state machine: pure, and the only place that decides the next state of a delivery.
 *
 * `transition` takes the current progress and an event, and returns the next progress. `EventsIn` lists the events
 * allowed in each state; the compiler rejects all others. Endings without a request are data (`endings`), because the
 * stores end thousands of rows with one SQL statement that is generated from it.
 *
 * docs/state-machine.md shows the same table for readers (state-machine-docs.test.ts), and
 * test/conformance/store/state-machine.suite.ts executes every row of it on the real stores.
 *
 * A turn that sends no request (circuit open, rate limit, pause, order) is not an event. It consumes no attempt, but
 * the age of the delivery keeps counting (WDS-150).
 */
import type { DeliveryPolicy } from "./delivery-policy.ts";
import {
  agesFrom,
  type CancelReason,
  type DeadLetterReason,
  type DeliveryProgress,
  type DeliveryState,
  scheduledAttempts,
  type WaitingState,
  waitingStates,
} from "./delivery.ts";
import type { Verdict } from "./classify.ts";
import { nextDelayMs } from "./retry-schedule.ts";

/** An event that can happen to a delivery. */
export type DeliveryEvent<K extends DeliveryEventKind = DeliveryEventKind> = {
  [P in K]: DeliveryEvents[P];
}[K];

export type DeliveryEventKind = keyof DeliveryEvents;

interface DeliveryEvents {
  /**
   * A request was sent and classified. `executedAt` is its start in Unix ms, `retryAfterMs` comes from its response.
   */
  readonly attempted: {
    readonly kind: "attempted";
    readonly verdict: Verdict;
    readonly executedAt: number;
    readonly retryAfterMs: number | null;
    /** The cause was fixed on our side, such as an expired access token (EDS-9.2.3-3), so retry without delay. */
    readonly retryAtOnce: boolean;
  };
  /** The delivery exceeded its maximum age (`isTooOld`) while it waited. */
  readonly expired: { readonly kind: "expired" };
  readonly webhook_deleted: { readonly kind: "webhook_deleted" };
  /** A person requested another attempt now. */
  readonly retried: { readonly kind: "retried" };
  /** A person cancelled the delivery. */
  readonly cancel_requested: { readonly kind: "cancel_requested" };
  /** A person discarded the dead letter permanently. */
  readonly discarded: { readonly kind: "discarded" };
  /** Retention removed the body before the delivery was sent. */
  readonly payload_unavailable: { readonly kind: "payload_unavailable" };
  /** The event is stored for a webhook of a different tenant, so it must never be sent there. */
  readonly foreign_webhook: { readonly kind: "foreign_webhook" };
  /** The webhook's profile does not allow the published payload. */
  readonly payload_refused: { readonly kind: "payload_refused" };
  /** The request could not be built. The fault is in Posthorn, so the receiver's health is not affected. */
  readonly compose_failed: { readonly kind: "compose_failed" };
}

/** How an event without a request ends a waiting delivery or, in the case of `discarded`, a dead letter. */
export type Ending =
  | { readonly state: "exhausted"; readonly reason: DeadLetterReason }
  | { readonly state: "cancelled"; readonly reason: CancelReason };

/** Deliveries that have already ended keep their state. */
export const endings = {
  expired: { state: "exhausted", reason: "expired" },
  webhook_deleted: { state: "cancelled", reason: "webhook_deleted" },
  cancel_requested: { state: "cancelled", reason: "cancel_requested" },
  discarded: { state: "cancelled", reason: "discarded" },
  payload_unavailable: { state: "exhausted", reason: "payload_unavailable" },
  foreign_webhook: { state: "exhausted", reason: "foreign_webhook" },
  payload_refused: { state: "exhausted", reason: "empty_data" },
  compose_failed: { state: "exhausted", reason: "internal_compose_failed" },
} as const satisfies Readonly<Record<Exclude<DeliveryEventKind, "attempted" | "retried">, Ending>>;

/** The state of a delivery after a manual retry, for the SQL of the stores. */
export const restart = { state: "pending", reason: null } as const;

const ofLeaseOwner = [
  "attempted",
  "expired",
  "payload_unavailable",
  "foreign_webhook",
  "payload_refused",
  "compose_failed",
] as const;

/** Events that the lease owner of a delivery may report even if the delivery was ended elsewhere. */
export type HolderEvent = DeliveryEvent<(typeof ofLeaseOwner)[number]>;

/**
 * The events allowed in each state. A dead or cancelled delivery may still be in flight, because its lease owner may
 * not have received the change yet. Succeeded and skipped deliveries have no lease. Deleting a webhook does not affect
 * deliveries that have ended.
 */
export const eventsIn = {
  pending: [...ofLeaseOwner, "webhook_deleted", "cancel_requested", "retried"],
  failed: [...ofLeaseOwner, "webhook_deleted", "cancel_requested", "retried"],
  success: [],
  exhausted: [...ofLeaseOwner, "discarded", "retried"],
  skipped: ["retried"],
  cancelled: [...ofLeaseOwner, "retried"],
} as const satisfies Readonly<Record<DeliveryState, readonly DeliveryEventKind[]>>;

/** The states in which the event is allowed. */
type StateFor<K extends DeliveryEventKind> = {
  [State in DeliveryState]: K extends (typeof eventsIn)[State][number] ? State : never;
}[DeliveryState];

/** The events that are allowed in each of these states. */
type EventIn<State extends DeliveryState> = DeliveryEvent<
  { [K in DeliveryEventKind]: [State] extends [StateFor<K>] ? K : never }[DeliveryEventKind]
>;

export interface TransitionInput<State extends DeliveryState> {
  readonly progress: DeliveryProgress<State>;
  readonly event: EventIn<State>;
  readonly policy: Pick<DeliveryPolicy, "schedule" | "attemptsMax" | "retryDelayFloorsMs" | "ageMsMax">;
  /** Unix ms, not earlier than the end of the response, so that Retry-After is never undercut. */
  readonly now: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/** The progress of a delivery after an event; the same object if nothing changed. Never throws and reads no clock. */
export function transition<State extends DeliveryState>(input: TransitionInput<State>): DeliveryProgress {
  const { progress } = input;
  const event: DeliveryEvent = input.event;
  if (event.kind === "attempted")
    return isWaiting(progress) ? settleAttempt(input, event) : settleLateAttempt(progress, event);
  if (event.kind === "discarded") return { ...progress, ...endings.discarded };
  if (event.kind === "retried") return retry(progress, input.now);
  return isWaiting(progress) ? { ...progress, ...endings[event.kind] } : progress;
}

function isWaiting(progress: DeliveryProgress): progress is DeliveryProgress<WaitingState> {
  return waitingStates.some((state) => state === progress.state);
}

/**
 * A retry keeps the delivery and its attempts. Age and schedule restart, because the original ones may be exhausted. A
 * delivery that is already due is unchanged.
 */
function retry(progress: DeliveryProgress, now: number): DeliveryProgress {
  if (isWaiting(progress) && progress.dueAt <= now) return progress;
  const { attemptCount } = progress;
  return { ...progress, ...restart, dueAt: now, retried: { at: now, attemptCount } };
}

/** Whether a delivery exceeds the maximum age. Unless it has already ended, it then becomes `expired`. */
export function isTooOld(
  progress: Pick<DeliveryProgress, "createdAt" | "retried">,
  ageMsMax: number,
  now: number,
): boolean {
  return now - agesFrom(progress) > ageMsMax;
}

type AttemptedEvent = DeliveryEvents["attempted"];
type AttemptInput = Omit<TransitionInput<DeliveryState>, "event">;

function settleAttempt(input: AttemptInput, event: AttemptedEvent): DeliveryProgress {
  const { verdict } = event;
  if (verdict.outcome === "accepted") return afterAttempt(input.progress, event, "success");
  const progress = afterAttempt(input.progress, event, "failed");
  if (verdict.outcome === "terminal") return deadLetter(progress, permanentReason(verdict));
  return retryOrGiveUp(input, event, progress);
}

/**
 * Exhaustion is decided here, right after the last attempt. If the next retry could only start after the maximum age,
 * the delivery is dead-lettered now, which frees an ordered lane and notifies the owner earlier.
 */
function retryOrGiveUp(
  input: AttemptInput,
  event: AttemptedEvent,
  progress: DeliveryProgress,
): DeliveryProgress {
  const { policy, now, random } = input;
  const attemptCount = scheduledAttempts(progress);
  if (attemptCount >= policy.attemptsMax) return deadLetter(progress, "max_attempts_exceeded");
  const horizon = agesFrom(progress) + policy.ageMsMax;
  const { retryAfterMs } = event;
  if (retryAfterMs !== null && now + retryAfterMs > horizon)
    return deadLetter(progress, "retry_after_beyond_horizon");
  const delayMs = nextDelayMs({
    schedule: policy.schedule,
    attemptCount,
    random,
    category: event.verdict.category,
    floorsMs: policy.retryDelayFloorsMs,
    retryAfterMs,
  });
  const dueAt = event.retryAtOnce ? now : now + delayMs;
  if (dueAt > horizon) return deadLetter(progress, "expired");
  return { ...progress, dueAt };
}

/**
 * The response to a request that was in flight when its delivery was dead-lettered or cancelled. An acceptance wins,
 * because the receiver has the message; any other response is only recorded in the history.
 */
function settleLateAttempt(progress: DeliveryProgress, event: AttemptedEvent): DeliveryProgress {
  if (event.verdict.outcome === "accepted") return afterAttempt(progress, event, "success");
  return { ...afterAttempt(progress, event, progress.state), reason: progress.reason };
}

/** The only place that counts attempts. */
function afterAttempt(
  progress: DeliveryProgress,
  event: AttemptedEvent,
  state: DeliveryState,
): DeliveryProgress {
  return {
    state,
    attemptCount: progress.attemptCount + 1,
    createdAt: progress.createdAt,
    firstAttemptAt: progress.firstAttemptAt ?? event.executedAt,
    dueAt: progress.dueAt,
    reason: event.verdict.outcome === "accepted" ? null : event.verdict.reason,
    retried: progress.retried,
  };
}

function deadLetter(progress: DeliveryProgress, reason: DeadLetterReason): DeliveryProgress {
  return { ...progress, state: "exhausted", reason };
}

function permanentReason(verdict: Verdict): DeadLetterReason {
  return isPermanent(verdict.reason) ? verdict.reason : `permanent_${verdict.reason}`;
}

function isPermanent(reason: string): reason is `permanent_${string}` {
  return reason.startsWith("permanent_");
}
