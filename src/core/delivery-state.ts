/**
 * The delivery state machine: pure, total, and the only place that decides what becomes of a delivery.
 *
 * `transition` takes where a delivery stands and what happened, and answers where it stands now and what must be done.
 * The table below has a handler for every state and event, which the compiler checks; docs/state-machine.md shows the
 * same table for readers, which a test checks.
 *
 * A turn that sent no request (circuit open, rate limit, pause, order) is no event at all: it consumes no attempt, but
 * the age of the delivery counts on (WDS-150, C-37).
 */
import type { DeadLetterReason, DeliveryProgress, DeliveryState } from "./delivery.ts";
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
  /** Its age passed the maximum while it waited. */
  readonly expired: { readonly kind: "expired" };
  /** By a user, or because the webhook was deleted. */
  readonly cancelled: { readonly kind: "cancelled"; readonly reason: string };
  /** A manual retry made a new delivery of the same event, which takes over: one live schedule only. */
  readonly superseded: { readonly kind: "superseded" };
  /** Retention removed the body that was to be sent. */
  readonly payload_unavailable: { readonly kind: "payload_unavailable" };
  /** The event is stored for a webhook of another tenant, so it must never be sent there. */
  readonly foreign_webhook: { readonly kind: "foreign_webhook" };
  /** The profile of the webhook does not allow what was published. */
  readonly payload_refused: { readonly kind: "payload_refused"; readonly reason: "empty_data" };
}

/** What a transition asks of its caller, beside storing the progress and the attempt. Times in Unix ms. */
export type DeliveryEffect =
  /** `late` when an accepted request ends a delivery that had already been given up or cancelled. */
  | { readonly kind: "completed"; readonly late: boolean }
  | { readonly kind: "schedule"; readonly dueAt: number }
  | { readonly kind: "dead_letter"; readonly reason: DeadLetterReason }
  /** The dead letter is settled and leaves the queue of dead letters. */
  | { readonly kind: "dead_letter_closed"; readonly by: "late_success" | "manual_retry" }
  | { readonly kind: "cancelled"; readonly reason: string };

/**
 * `moved`: store the progress (and the attempt, if the event was one), then carry out the effects. `ignored`: it came
 * too late and changes nothing. `refused`: the caller is mistaken; nothing may be stored.
 */
export type TransitionResult =
  | {
      readonly kind: "moved";
      readonly progress: DeliveryProgress;
      readonly effects: readonly DeliveryEffect[];
    }
  | { readonly kind: "ignored"; readonly reason: "already_final" }
  | { readonly kind: "refused"; readonly reason: "not_yet_expired" | "never_dispatched" };

export interface TransitionInput {
  readonly progress: DeliveryProgress;
  readonly event: DeliveryEvent;
  readonly policy: Pick<DeliveryPolicy, "schedule" | "attemptsMax" | "retryDelayFloorsMs" | "ageMsMax">;
  /** Unix ms, not before the response was complete, so that Retry-After is never undercut. */
  readonly now: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/** Where a delivery stands after an event. Throws nothing, changes nothing, calls no clock. */
export function transition(input: TransitionInput): TransitionResult {
  return dispatch(input, input.event);
}

type Handler<K extends DeliveryEventKind> = (
  input: TransitionInput,
  event: DeliveryEvents[K],
) => TransitionResult;
type HandlerRow = { readonly [K in DeliveryEventKind]: Handler<K> };

function dispatch<K extends DeliveryEventKind>(
  input: TransitionInput,
  event: DeliveryEvent<K>,
): TransitionResult {
  const handle: Handler<K> = handlers[input.progress.state][event.kind as K];
  return handle(input, event);
}

const alreadyFinal: TransitionResult = { kind: "ignored", reason: "already_final" };
const ignore = (): TransitionResult => alreadyFinal;
const neverDispatched = (): TransitionResult => ({ kind: "refused", reason: "never_dispatched" });

const waiting: HandlerRow = {
  attempted: settleAttempt,
  expired: expire,
  cancelled: (input, event) => cancel(input, event.reason),
  superseded: (input) => cancel(input, "superseded"),
  payload_unavailable: (input) => deadLetter(input.progress, "payload_unavailable"),
  foreign_webhook: (input) => deadLetter(input.progress, "foreign_webhook"),
  payload_refused: (input, event) => deadLetter(input.progress, event.reason),
};

const handlers: { readonly [S in DeliveryState]: HandlerRow } = {
  pending: waiting,
  failed: waiting,
  success: {
    attempted: recordOnly,
    expired: ignore,
    cancelled: ignore,
    superseded: ignore,
    payload_unavailable: ignore,
    foreign_webhook: ignore,
    payload_refused: ignore,
  },
  exhausted: {
    attempted: settleLateAttempt,
    expired: ignore,
    cancelled: ignore,
    superseded: (input) => moved(input.progress, [{ kind: "dead_letter_closed", by: "manual_retry" }]),
    payload_unavailable: ignore,
    foreign_webhook: ignore,
    payload_refused: ignore,
  },
  cancelled: {
    attempted: settleLateAttempt,
    expired: ignore,
    cancelled: ignore,
    superseded: ignore,
    payload_unavailable: ignore,
    foreign_webhook: ignore,
    payload_refused: ignore,
  },
  skipped: {
    attempted: neverDispatched,
    expired: ignore,
    cancelled: ignore,
    superseded: ignore,
    payload_unavailable: ignore,
    foreign_webhook: ignore,
    payload_refused: ignore,
  },
};

const completed: readonly DeliveryEffect[] = [{ kind: "completed", late: false }];
const completedLate: readonly DeliveryEffect[] = [{ kind: "completed", late: true }];
const deadLetterAnswered: readonly DeliveryEffect[] = [
  { kind: "completed", late: true },
  { kind: "dead_letter_closed", by: "late_success" },
];
const noEffects: readonly DeliveryEffect[] = [];

function moved(progress: DeliveryProgress, effects: readonly DeliveryEffect[]): TransitionResult {
  return { kind: "moved", progress, effects };
}

type AttemptedEvent = DeliveryEvents["attempted"];

function settleAttempt(input: TransitionInput, event: AttemptedEvent): TransitionResult {
  const { verdict } = event;
  if (verdict.outcome === "accepted") return moved(afterAttempt(input.progress, event, "success"), completed);
  const progress = afterAttempt(input.progress, event, "failed");
  if (verdict.outcome === "terminal") return deadLetter(progress, permanentReason(verdict));
  return retryOrGiveUp(input, event, progress);
}

/**
 * Exhaustion is decided here, right after the last attempt (C-3). A retry that could only start after the maximum age
 * is not waited for: the dead letter is written now, which frees an ordered lane and tells the owner earlier.
 */
function retryOrGiveUp(
  input: TransitionInput,
  event: AttemptedEvent,
  progress: DeliveryProgress,
): TransitionResult {
  const { policy, now, random } = input;
  if (progress.attemptCount >= policy.attemptsMax) return deadLetter(progress, "max_attempts_exceeded");
  const horizon = progress.createdAt + policy.ageMsMax;
  const { retryAfterMs } = event;
  if (retryAfterMs !== null && now + retryAfterMs > horizon)
    return deadLetter(progress, "retry_after_beyond_horizon");
  const delayMs = nextDelayMs({
    schedule: policy.schedule,
    attemptCount: progress.attemptCount,
    random,
    category: event.verdict.category,
    floorsMs: policy.retryDelayFloorsMs,
    retryAfterMs,
  });
  const dueAt = event.retryAtOnce ? now : now + delayMs;
  if (dueAt > horizon) return deadLetter(progress, "expired");
  return moved({ ...progress, dueAt }, [{ kind: "schedule", dueAt }]);
}

/**
 * The answer to a request that was on its way when its delivery was cancelled or given up. An acceptance is the truth
 * of what happened and wins; anything else is kept in the history and changes nothing.
 */
function settleLateAttempt(input: TransitionInput, event: AttemptedEvent): TransitionResult {
  if (event.verdict.outcome !== "accepted") return recordOnly(input, event);
  const effects = input.progress.state === "exhausted" ? deadLetterAnswered : completedLate;
  return moved(afterAttempt(input.progress, event, "success"), effects);
}

/** The request was made, so it counts, but state and reason stay. */
function recordOnly(input: TransitionInput, event: AttemptedEvent): TransitionResult {
  const { state, reason } = input.progress;
  return moved({ ...afterAttempt(input.progress, event, state), reason }, noEffects);
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
  };
}

function expire(input: TransitionInput): TransitionResult {
  const { progress, policy, now } = input;
  if (now <= progress.createdAt + policy.ageMsMax) return { kind: "refused", reason: "not_yet_expired" };
  return deadLetter(progress, "expired");
}

function cancel(input: TransitionInput, reason: string): TransitionResult {
  return moved({ ...input.progress, state: "cancelled", reason }, [{ kind: "cancelled", reason }]);
}

function deadLetter(progress: DeliveryProgress, reason: DeadLetterReason): TransitionResult {
  return moved({ ...progress, state: "exhausted", reason }, [{ kind: "dead_letter", reason }]);
}

function permanentReason(verdict: Verdict): DeadLetterReason {
  return isPermanent(verdict.reason) ? verdict.reason : `permanent_${verdict.reason}`;
}

function isPermanent(reason: string): reason is `permanent_${string}` {
  return reason.startsWith("permanent_");
}
