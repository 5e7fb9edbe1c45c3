/**
 * The delivery state machine: pure, and the only place that decides what becomes of a delivery.
 *
 * `transition` takes where a delivery stands and what happened, and answers where it stands now. `EventsIn` says what can
 * happen in which state, and the compiler refuses everything else. What ends a delivery without a request is data
 * (`endings`), because the stores end thousands of rows with one statement: that SQL is made from it.
 *
 * docs/state-machine.md shows the same table for readers (state-machine-docs.test.ts), and test/conformance/store/
 * state-machine.ts executes every row of it over the real stores.
 *
 * A turn that sent no request (circuit open, rate limit, pause, order) is no event at all: it consumes no attempt, but
 * the age of the delivery counts on (WDS-150, C-37).
 */
import { agesFrom, scheduledAttempts, waitingStates } from "./delivery.ts";
import type {
  CancelReason,
  DeadLetterReason,
  DeliveryProgress,
  DeliveryState,
  WaitingState,
} from "./delivery.ts";
import type { DeliveryPolicy } from "./delivery-policy.ts";
import type { Verdict } from "./outcome.ts";
import { nextDelayMs } from "./retry-schedule.ts";

/** What can happen to a delivery. */
export type DeliveryEvent<K extends DeliveryEventKind = DeliveryEventKind> = {
  [P in K]: DeliveryEvents[P];
}[K];

export type DeliveryEventKind = keyof DeliveryEvents;

interface DeliveryEvents {
  /** A request was made and classified. `executedAt` is its start in Unix ms, `retryAfterMs` from its response. */
  readonly attempted: {
    readonly kind: "attempted";
    readonly verdict: Verdict;
    readonly executedAt: number;
    readonly retryAfterMs: number | null;
    /** What was wrong has been mended on our side, such as an access token (EDS-9.2.3-3): do not wait for the retry. */
    readonly retryAtOnce: boolean;
  };
  /** Its age passed the maximum (`isTooOld`) while it waited. */
  readonly expired: { readonly kind: "expired" };
  readonly webhook_deleted: { readonly kind: "webhook_deleted" };
  /** A person asked for another request now. */
  readonly retried: { readonly kind: "retried" };
  /** A person asked that it is not sent. */
  readonly cancel_requested: { readonly kind: "cancel_requested" };
  /** A person asked that the dead letter is given up for good. */
  readonly discarded: { readonly kind: "discarded" };
  /** Retention removed the body that was to be sent. */
  readonly payload_unavailable: { readonly kind: "payload_unavailable" };
  /** The event is stored for a webhook of another tenant, so it must never be sent there. */
  readonly foreign_webhook: { readonly kind: "foreign_webhook" };
  /** The profile of the webhook does not allow what was published. */
  readonly payload_refused: { readonly kind: "payload_refused" };
  /** The request could not be built. The fault is in this program, so the receiver is not charged for it. */
  readonly compose_failed: { readonly kind: "compose_failed" };
}

/** How an event without a request ends a delivery that waits, or with `discarded` a dead letter. */
export type Ending =
  | { readonly state: "exhausted"; readonly reason: DeadLetterReason }
  | { readonly state: "cancelled"; readonly reason: CancelReason };

/** What has ended already stays as it is. */
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

/** Where a manual retry puts a delivery, for the statements of the stores. */
export const restart = { state: "pending", reason: null } as const;

const ofHolder = [
  "attempted",
  "expired",
  "payload_unavailable",
  "foreign_webhook",
  "payload_refused",
  "compose_failed",
] as const;

/** What the holder of a delivery reports of it, also when somebody else has ended it. */
export type HolderEvent = DeliveryEvent<(typeof ofHolder)[number]>;

/**
 * What can happen in which state. A delivery that was given up or cancelled may still be held by somebody who does not
 * know, with a request on its way; of a success, or of what was skipped, nobody holds anything. What has ended is
 * never looked at again when its webhook is deleted.
 */
export const eventsIn = {
  pending: [...ofHolder, "webhook_deleted", "cancel_requested", "retried"],
  failed: [...ofHolder, "webhook_deleted", "cancel_requested", "retried"],
  success: [],
  exhausted: [...ofHolder, "discarded", "retried"],
  skipped: ["retried"],
  cancelled: [...ofHolder, "retried"],
} as const satisfies Readonly<Record<DeliveryState, readonly DeliveryEventKind[]>>;

/** The states in which this event can happen. */
type StateFor<K extends DeliveryEventKind> = {
  [State in DeliveryState]: K extends (typeof eventsIn)[State][number] ? State : never;
}[DeliveryState];

/** Events that can happen in each of these states. */
type EventIn<State extends DeliveryState> = DeliveryEvent<
  { [K in DeliveryEventKind]: [State] extends [StateFor<K>] ? K : never }[DeliveryEventKind]
>;

export interface TransitionInput<State extends DeliveryState> {
  readonly progress: DeliveryProgress<State>;
  readonly event: EventIn<State>;
  readonly policy: Pick<DeliveryPolicy, "schedule" | "attemptsMax" | "retryDelayFloorsMs" | "ageMsMax">;
  /** Unix ms, not before the response was complete, so that Retry-After is never undercut. */
  readonly now: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/** Where a delivery stands after an event; the same object when nothing changed. Throws nothing, calls no clock. */
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
 * A retry keeps the delivery and its attempts. Age and schedule start again, because the first ones may be used up. One that
 * is due already has nothing to gain.
 */
function retry(progress: DeliveryProgress, now: number): DeliveryProgress {
  if (isWaiting(progress) && progress.dueAt <= now) return progress;
  const { attemptCount } = progress;
  return { ...progress, ...restart, dueAt: now, retried: { at: now, attemptCount } };
}

/** Older than a delivery may get: it is `expired` unless it has ended. */
export function isTooOld(
  progress: Pick<DeliveryProgress, "createdAt" | "retried">,
  limit: { readonly ageMsMax: number; readonly now: number },
): boolean {
  return limit.now - agesFrom(progress) > limit.ageMsMax;
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
 * Exhaustion is decided here, right after the last attempt (C-3). A retry that could only start after the maximum age
 * is not waited for: the dead letter is written now, which frees an ordered lane and tells the owner earlier.
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
 * The answer to a request that was on its way when its delivery was given up or cancelled. An acceptance is the truth
 * of what happened and wins; anything else is kept in the history and changes nothing.
 */
function settleLateAttempt(progress: DeliveryProgress, event: AttemptedEvent): DeliveryProgress {
  if (event.verdict.outcome === "accepted") return afterAttempt(progress, event, "success");
  return { ...afterAttempt(progress, event, progress.state), reason: progress.reason };
}

/** The one place where attempts are counted. */
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
