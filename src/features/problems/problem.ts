import { createHash } from "node:crypto";
import type { AttemptRecord } from "../../domain/delivery.ts";
import type { FailureCategory, Outcome } from "../../domain/classify.ts";

/**
 * The common properties of similar failures of one webhook. `statusCode` and `errorCode` are null if there was no
 * response or no such code. `answer` is the first line of the response, or the error, without its variable parts. All
 * four are null in the overflow kind.
 */
export interface ProblemKind {
  readonly category: FailureCategory | null;
  readonly statusCode: number | null;
  readonly errorCode: string | null;
  readonly answer: string | null;
}

/** Maximum number of kinds per webhook; further kinds share the overflow kind. */
export const problemKindsMax = 50;

export const otherKind: ProblemKind = { category: null, statusCode: null, errorCode: null, answer: null };

export function isOtherKind({ category }: ProblemKind): boolean {
  return category === null;
}

/** Null for an accepted attempt. */
export function problemKind(
  attempt: Pick<AttemptRecord, "category" | "statusCode" | "responseSample" | "errorMessage">,
): ProblemKind | null {
  const { category, statusCode, responseSample, errorMessage } = attempt;
  if (category === null) return null;
  const said = statusCode === null ? errorMessage : (responseSample ?? errorMessage);
  const errorCode = statusCode === null ? (systemCode.exec(errorMessage ?? "")?.[0] ?? null) : null;
  return { category, statusCode, errorCode, answer: fingerprint(said ?? "") };
}

/** The first non-empty line, with digits and ids replaced; null if every line is empty. */
export function fingerprint(text: string): string | null {
  const line = text
    .slice(0, readMax)
    .split(lineEnds)
    .find((each) => each.trim() !== "");
  if (line === undefined) return null;
  const common = line.replaceAll(words, (word) => (individual.test(word) ? "#" : word));
  return common.replaceAll(blanks, " ").trim().slice(0, answerLengthMax);
}

/** A UUIDv8 derived from webhook and kind. Every process computes the same id, so no lookup is needed. */
export function problemIdOf(
  webhookId: string,
  { category, statusCode, errorCode, answer }: ProblemKind,
): string {
  const name = JSON.stringify([webhookId, category, statusCode, errorCode, answer]);
  const hex = createHash("sha256").update(name).digest("hex");
  const variant = "89ab".charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return [...groups, hex.slice(20, 32)].join("-");
}

const lineEnds = /[\r\n\u2028\u2029]/;
/** Matches control characters too, because terminals would interpret them. */
const blanks = /[\s\p{Cc}]+/gu;
/** Matches whole words, so that a long word is examined only once. */
const words = /[\p{L}\p{N}_.:@+-]+/gu;
/** A word with a digit is treated as an id, a number or a time; a word with @ is treated as an email address. */
const individual = /[\p{N}@]/u;
/** Error codes of Node and OpenSSL. */
const systemCode = /\b(?:E[A-Z]{3,}|E[A-Z]+_[A-Z_]+|ERR_[A-Z_]+|[A-Z]+_CERT_[A-Z_]+|CERT_[A-Z_]+)\b/;
const readMax = 1_024;
const answerLengthMax = 160;

/** States as stored. `noticed` is a failure that has not repeated often enough to be a problem; it is not shown. */
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
  /** Outcome of the last failure: whether the delivery was to be retried. */
  readonly outcome: Exclude<Outcome, "accepted">;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly resolvedAt: number | null;
  /** Number of failed attempts. */
  readonly count: number;
  readonly deliveries: number;
  /** Newest first, limited to three. */
  readonly deliveryIds: readonly string[];
  /** Recent failures that may still open the problem. Contains at most two entries when the next failure is added. */
  readonly recent: readonly SeenFailure[];
  readonly mute: ProblemMute | null;
  readonly note: string | null;
}

interface SeenFailure {
  readonly at: number;
  readonly deliveryId: string;
}

/** Mutes notifications about the problem. */
export interface ProblemMute {
  readonly since: number;
  /** Null if the mute has no end. */
  readonly until: number | null;
  readonly reason: string | null;
}

/** A failed attempt. */
export interface ProblemFailure extends SeenFailure {
  readonly outcome: DeliveryProblem["outcome"];
  /** Whether this failure ended the delivery. */
  readonly isDeadLetter: boolean;
  /** Whether an earlier attempt of the same delivery failed in the same way. */
  readonly isRepeated: boolean;
}

/** A change that triggers a notification. */
export interface ProblemMove {
  readonly kind: "opened" | "resolved";
  readonly problem: DeliveryProblem;
}

/** Creates a problem without earlier failures. */
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

/** The state of a problem after the webhook accepted an attempt. */
export function recovering(problem: DeliveryProblem): DeliveryProblem {
  return problem.state === "open" ? { ...problem, state: "recovering" } : problem;
}

export function resolved(problem: DeliveryProblem, at: number): DeliveryProblem {
  return isUnresolved(problem) ? { ...problem, state: "resolved", resolvedAt: at, recent: [] } : problem;
}

function isUnresolved({ state }: Pick<DeliveryProblem, "state">): boolean {
  return state === "open" || state === "recovering";
}

/** The change that triggers a notification; null if the problem was neither opened nor resolved. */
export function problemMove(before: DeliveryProblem, after: DeliveryProblem): ProblemMove | null {
  if (isUnresolved(before) === isUnresolved(after)) return null;
  return { kind: isUnresolved(after) ? "opened" : "resolved", problem: after };
}

/** The current mute; null if the problem is not muted now. */
export function muteAt({ mute }: Pick<DeliveryProblem, "mute">, now: number): ProblemMute | null {
  return mute !== null && (mute.until === null || mute.until > now) ? mute : null;
}

/** The state that is shown; null if the problem is not shown. */
export function shownState(problem: DeliveryProblem, now: number): ProblemState | null {
  const { state } = problem;
  if (state === "noticed") return null;
  return isUnresolved(problem) && muteAt(problem, now) !== null ? "muted" : state;
}

/** Number of failures within `opensWithinMs` that open a problem. */
const opensWith = 3;
export const opensWithinMs = 600_000;
/** Number of consecutive accepted attempts that resolve a problem. */
export const resolvesWith = 20;
/** A problem also resolves after this time without another such failure, provided that an attempt was accepted. */
export const resolvesAfterMs = 1_800_000;
const deliveryIdsMax = 3;
