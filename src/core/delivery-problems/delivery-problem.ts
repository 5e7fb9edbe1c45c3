import type { Outcome } from "../outcome.ts";
import type { ProblemKind } from "./problem-kind.ts";

/** As they are stored. `noticed` has failed, and not often enough to be a problem: nobody is shown it. */
export type StoredProblemState = "noticed" | "open" | "recovering" | "resolved";

/** As they are shown. `muted` takes the place of `open` and `recovering`. */
export const problemStates = ["open", "recovering", "resolved", "muted"] as const;
export type ProblemState = (typeof problemStates)[number];

/**
 * Failures of one kind of one webhook, told as one. What is counted is counted since it opened, the failures that opened it
 * included. Times are Unix milliseconds.
 */
export interface DeliveryProblem {
  readonly id: string;
  readonly webhookId: string;
  readonly tenantId: string;
  readonly kind: ProblemKind;
  readonly state: StoredProblemState;
  /** Of the last failure: whether it was to be tried again. */
  readonly outcome: Exclude<Outcome, "accepted">;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly resolvedAt: number | null;
  /** Failed attempts. */
  readonly count: number;
  readonly deliveries: number;
  /** The newest first, three at most. */
  readonly deliveryIds: readonly string[];
  /** What may still open it: at most two failures before the next. */
  readonly recent: readonly SeenFailure[];
  readonly mute: ProblemMute | null;
  readonly note: string | null;
}

export interface SeenFailure {
  readonly at: number;
  readonly deliveryId: string;
}

/** Somebody does not want to hear of it. */
export interface ProblemMute {
  readonly since: number;
  /** Null until it is ended. */
  readonly until: number | null;
  readonly reason: string | null;
}

/** A failed attempt. */
export interface ProblemFailure extends SeenFailure {
  readonly outcome: DeliveryProblem["outcome"];
  /** The delivery ended with it. */
  readonly isDeadLetter: boolean;
  /** An attempt before, of the same delivery, failed in the same way. */
  readonly isRepeated: boolean;
}

/** What a person may want to hear of. */
export interface ProblemMove {
  readonly kind: "opened" | "resolved";
  readonly problem: DeliveryProblem;
}

/** A problem that nobody has noticed before. */
export function newProblem(
  of: Pick<DeliveryProblem, "id" | "webhookId" | "tenantId" | "kind">,
  { at, outcome }: Pick<ProblemFailure, "at" | "outcome">,
): DeliveryProblem {
  return {
    ...of,
    ...{ state: "noticed", outcome, firstSeenAt: at, lastSeenAt: at, resolvedAt: null },
    ...{ count: 0, deliveries: 0, deliveryIds: [], recent: [], mute: null, note: null },
  };
}

/** Opens with the third failure within ten minutes, or with a dead letter. */
export function withFailure(problem: DeliveryProblem, failure: ProblemFailure): DeliveryProblem {
  const { at, deliveryId, outcome } = failure;
  const deliveryIds = [deliveryId, ...problem.deliveryIds.filter((id) => id !== deliveryId)];
  const seen = { ...problem, outcome, deliveryIds: deliveryIds.slice(0, deliveryIdsMax) };
  if (isUnresolved(problem)) {
    const deliveries = problem.deliveries + (failure.isRepeated ? 0 : 1);
    return { ...seen, state: "open", lastSeenAt: at, count: problem.count + 1, deliveries };
  }
  const recent = [...problem.recent.filter((each) => at - each.at <= opensWithinMs), { at, deliveryId }];
  if (!failure.isDeadLetter && recent.length < opensWith) return { ...problem, recent };
  const counted = { count: recent.length, deliveries: new Set(recent.map((each) => each.deliveryId)).size };
  const newest = [...new Set(recent.map((each) => each.deliveryId).toReversed())];
  return {
    ...{ ...seen, ...counted, state: "open", recent: [], deliveryIds: newest.slice(0, deliveryIdsMax) },
    ...{ firstSeenAt: recent[0]?.at ?? at, lastSeenAt: at, resolvedAt: null },
  };
}

/** After an attempt of its webhook that was accepted. */
export function recovering(problem: DeliveryProblem): DeliveryProblem {
  return problem.state === "open" ? { ...problem, state: "recovering" } : problem;
}

export function resolved(problem: DeliveryProblem, at: number): DeliveryProblem {
  return isUnresolved(problem) ? { ...problem, state: "resolved", resolvedAt: at, recent: [] } : problem;
}

function isUnresolved({ state }: Pick<DeliveryProblem, "state">): boolean {
  return state === "open" || state === "recovering";
}

/** What changed for whoever looks at it; null when nothing did. */
export function problemMove(before: DeliveryProblem, after: DeliveryProblem): ProblemMove | null {
  if (isUnresolved(before) === isUnresolved(after)) return null;
  return { kind: isUnresolved(after) ? "opened" : "resolved", problem: after };
}

/** The mute that is in force; null without one, or when it is over. */
export function muteAt({ mute }: Pick<DeliveryProblem, "mute">, now: number): ProblemMute | null {
  return mute !== null && (mute.until === null || mute.until > now) ? mute : null;
}

/** Null for what nobody is shown. */
export function shownState(problem: DeliveryProblem, now: number): ProblemState | null {
  const { state } = problem;
  if (state === "noticed") return null;
  return isUnresolved(problem) && muteAt(problem, now) !== null ? "muted" : state;
}

/** So many failures within so long open a problem. */
const opensWith = 3;
export const opensWithinMs = 600_000;
/** So many attempts in a row that were accepted resolve it. */
export const resolvesWith = 20;
/** So long without such a failure resolves it too, once an attempt was accepted. */
export const resolvesAfterMs = 1_800_000;
const deliveryIdsMax = 3;
