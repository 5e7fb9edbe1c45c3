import type { Outcome } from "../outcome.ts";
import type { ProblemKind } from "./problem-kind.ts";

/** Stored states. `noticed` is a failure that has not repeated often enough to be a problem; it is not shown. */
export type StoredProblemState = "noticed" | "open" | "recovering" | "resolved";

/** States as shown. `muted` replaces `open` and `recovering`. */
export const problemStates = ["open", "recovering", "resolved", "muted"] as const;
export type ProblemState = (typeof problemStates)[number];

/**
 * Failures of the same kind at one webhook, reported as one problem. Counts start when the problem opened and include
 * the failures that opened it. Times are Unix milliseconds.
 */
export interface DeliveryProblem {
  readonly id: string;
  readonly webhookId: string;
  readonly tenantId: string;
  readonly kind: ProblemKind;
  readonly state: StoredProblemState;
  /** Outcome of the last failure: whether it was to be retried. */
  readonly outcome: Exclude<Outcome, "accepted">;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly resolvedAt: number | null;
  /** Failed attempts. */
  readonly count: number;
  readonly deliveries: number;
  /** Newest first, limited to three. */
  readonly deliveryIds: readonly string[];
  /** Recent failures that may still open the problem; never more than two before the next. */
  readonly recent: readonly SeenFailure[];
  readonly mute: ProblemMute | null;
  readonly note: string | null;
}

export interface SeenFailure {
  readonly at: number;
  readonly deliveryId: string;
}

/** Notifications about the problem are muted. */
export interface ProblemMute {
  readonly since: number;
  /** Null for a mute without an end. */
  readonly until: number | null;
  readonly reason: string | null;
}

/** A failed attempt. */
export interface ProblemFailure extends SeenFailure {
  readonly outcome: DeliveryProblem["outcome"];
  /** This failure ended the delivery. */
  readonly isDeadLetter: boolean;
  /** An earlier attempt of the same delivery failed in the same way. */
  readonly isRepeated: boolean;
}

/** A change that is worth a notification. */
export interface ProblemMove {
  readonly kind: "opened" | "resolved";
  readonly problem: DeliveryProblem;
}

/** A problem with no earlier failures. */
export function newProblem(
  of: Pick<DeliveryProblem, "id" | "webhookId" | "tenantId" | "kind">,
  { at, outcome }: Pick<ProblemFailure, "at" | "outcome">,
): DeliveryProblem {
  return {
    ...of,
    state: "noticed",
    outcome,
    firstSeenAt: at,
    lastSeenAt: at,
    resolvedAt: null,
    count: 0,
    deliveries: 0,
    deliveryIds: [],
    recent: [],
    mute: null,
    note: null,
  };
}

/** Opens the problem at the third failure within ten minutes, or at a dead letter. */
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
    ...seen,
    ...counted,
    state: "open",
    recent: [],
    deliveryIds: newest.slice(0, deliveryIdsMax),
    firstSeenAt: recent[0]?.at ?? at,
    lastSeenAt: at,
    resolvedAt: null,
  };
}

/** Applied after the webhook accepted an attempt. */
export function recovering(problem: DeliveryProblem): DeliveryProblem {
  return problem.state === "open" ? { ...problem, state: "recovering" } : problem;
}

export function resolved(problem: DeliveryProblem, at: number): DeliveryProblem {
  return isUnresolved(problem) ? { ...problem, state: "resolved", resolvedAt: at, recent: [] } : problem;
}

function isUnresolved({ state }: Pick<DeliveryProblem, "state">): boolean {
  return state === "open" || state === "recovering";
}

/** The change that viewers would notice; null if there is none. */
export function problemMove(before: DeliveryProblem, after: DeliveryProblem): ProblemMove | null {
  if (isUnresolved(before) === isUnresolved(after)) return null;
  return { kind: isUnresolved(after) ? "opened" : "resolved", problem: after };
}

/** The mute in force; null if there is none or it has ended. */
export function muteAt({ mute }: Pick<DeliveryProblem, "mute">, now: number): ProblemMute | null {
  return mute !== null && (mute.until === null || mute.until > now) ? mute : null;
}

/** Null for a state that is not shown. */
export function shownState(problem: DeliveryProblem, now: number): ProblemState | null {
  const { state } = problem;
  if (state === "noticed") return null;
  return isUnresolved(problem) && muteAt(problem, now) !== null ? "muted" : state;
}

/** This many failures within `opensWithinMs` open a problem. */
const opensWith = 3;
export const opensWithinMs = 600_000;
/** This many accepted attempts in a row resolve it. */
export const resolvesWith = 20;
/** It also resolves after this time without such a failure, provided that an attempt was accepted. */
export const resolvesAfterMs = 1_800_000;
const deliveryIdsMax = 3;
