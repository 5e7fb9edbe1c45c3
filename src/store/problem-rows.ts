import {
  type DeliveryProblem,
  newProblem,
  opensWithinMs,
  otherKind,
  problemIdOf,
  problemKind,
  problemKindsMax,
  type ProblemMove,
  problemMove,
  recovering,
  resolved,
  type StoredProblemState,
  withFailure,
} from "../features/problems/problem.ts";
import type {
  ChangeProblemCommand,
  ProblemBatch,
  ProblemFact,
  StoredProblem,
} from "../ports/store/delivery-problems.ts";
import type { SearchPage } from "../ports/store/search.ts";
import { categoryCodes, decodeOrNull } from "./column-values.ts";

/** The values are part of the stored format. */
const problemStateCodes: Readonly<Record<StoredProblemState, number>> = {
  noticed: 0,
  open: 1,
  recovering: 2,
  resolved: 3,
};
const { noticed, open, recovering: recoveringCode, resolved: resolvedCode } = problemStateCodes;

/** An index by state and time covers problems that are not open; each query has to repeat its condition. */
const restingSql = (state: number, before: string): string =>
  `state <> ${open} AND state = ${state} AND last_seen < ${before}`;
export const quietSql = (since: string): string => restingSql(recoveringCode, since);
export const forgottenSql = (noticedBefore: string, resolvedBefore: string): string =>
  `((${restingSql(noticed, noticedBefore)}) OR (${restingSql(resolvedCode, resolvedBefore)}))`;

export const unresolvedSql = `state IN (${open}, ${recoveringCode})`;

/** A log row, as both stores select it. */
export type ProblemRow = [position: number, document: string];

export function toProblem([position, document]: ProblemRow): StoredProblem {
  return { ...(JSON.parse(document) as DeliveryProblem), position };
}

/** Columns of a row in addition to its document, in column order and without the position. */
export function problemColumns(
  problem: DeliveryProblem,
): readonly [
  id: string,
  webhook: string,
  tenant: string,
  state: number,
  mutedUntil: number | null,
  lastSeen: number,
] {
  const { id, webhookId, tenantId, state, mute } = problem;
  const lastSeen = problem.recent.at(-1)?.at ?? problem.resolvedAt ?? problem.lastSeenAt;
  const mutedUntil = mute === null ? null : (mute.until ?? forever);
  return [id, webhookId, tenantId, problemStateCodes[state], mutedUntil, lastSeen];
}

export function problemDocument(problem: DeliveryProblem & { readonly position?: number }): string {
  const { position: _, ...document } = problem;
  return JSON.stringify(document);
}

/**
 * SQL for whether a row is in one of the states to show. The arguments are SQL parameters: the time and, for each of
 * `problemStates`, whether it is shown.
 */
export function shownSql(
  now: string,
  [isOpen, isRecovering, isResolved, isMuted]: readonly string[],
): string {
  const muted = `coalesce(muted_until, 0) > ${now}::bigint`;
  const conditions = [
    `${isOpen}::boolean AND state = ${open} AND NOT ${muted}`,
    `${isRecovering}::boolean AND state = ${recoveringCode} AND NOT ${muted}`,
    `${isResolved}::boolean AND state = ${resolvedCode}`,
    `${isMuted}::boolean AND ${unresolvedSql} AND ${muted}`,
  ];
  return `(${conditions.map((condition) => `(${condition})`).join(" OR ")})`;
}

/** Number of rows examined in one step of a search. */
export const problemRowsAtOnce = 2_000;

/** `last` is the lowest position examined; null if no rows are left. */
export function problemPage(
  found: readonly ProblemRow[],
  limit: number,
  last: number | null,
): SearchPage<StoredProblem> {
  const rows = found.slice(0, limit).map(toProblem);
  const isFull = found.length > limit;
  const position = isFull ? (rows.at(-1)?.position ?? null) : last;
  const next = position === null ? null : { position, dueAt: null };
  return { rows, next, searchedTo: null, isCutShort: false };
}

export function changedProblem(problem: StoredProblem, { mute, note }: ChangeProblemCommand): StoredProblem {
  return {
    ...problem,
    mute: mute === undefined ? problem.mute : mute,
    note: note === undefined ? problem.note : note,
  };
}

/** Data of an earlier attempt of a delivery, as both stores select it. */
export type EarlierRow = [
  ref: number,
  category: number | null,
  statusCode: number | null,
  responseSample: string | null,
  errorMessage: string | null,
];

/** Number of earlier attempts examined. A failure that alternates with more than this many others is counted again. */
export const earlierMax = 8;

/** The facts of deliveries that have earlier attempts. */
export function repeatable(facts: readonly ProblemFact[]): readonly ProblemFact[] {
  return facts.filter(({ attemptNumber }) => attemptNumber > 1);
}

/** Ids of the problems that a fact may belong to. */
export function candidateIds({ webhookId, kind }: ProblemFact): readonly [own: string, other: string] {
  return [problemIdOf(webhookId, kind), problemIdOf(webhookId, otherKind)];
}

/** An existing problem of a webhook for which the batch contains a new kind. */
export interface RoomRow {
  readonly id: string;
  readonly state: number;
  readonly lastSeen: number;
}

/** The stored data that is needed to apply a batch. */
export interface KnownProblems {
  readonly rows: readonly StoredProblem[];
  /** Ids of webhooks that are not deleted. */
  readonly webhooks: ReadonlySet<string>;
  /** All problems of the webhooks for which the batch contains a new kind, least recently changed first. */
  readonly room: ReadonlyMap<string, readonly RoomRow[]>;
  /** Earlier attempts, keyed by the position of the delivery. */
  readonly earlier: ReadonlyMap<number, readonly EarlierRow[]>;
}

/** The changes to write. */
export interface ProblemChanges {
  readonly saved: readonly DeliveryProblem[];
  readonly removedIds: readonly string[];
  readonly moves: readonly ProblemMove[];
}

/** Applies a batch to the stored problems: first recoveries, then failures. */
export function appliedProblems(
  batch: Pick<ProblemBatch, "recovering" | "resolved" | "at">,
  facts: readonly ProblemFact[],
  known: KnownProblems,
): ProblemChanges {
  const before = new Map<string, DeliveryProblem>(known.rows.map((row) => [row.id, row]));
  const after = new Map<string, DeliveryProblem>();
  for (const row of known.rows) {
    const next = afterMarks(row, batch);
    if (next !== row) after.set(row.id, next);
  }
  const rooms = new Rooms(known.room, batch.at);
  for (const fact of facts) {
    if (!known.webhooks.has(fact.webhookId)) continue;
    const [ownId, otherId] = candidateIds(fact);
    const isKnown = (id: string): boolean => after.has(id) || (before.has(id) && !rooms.removed.has(id));
    const id = isKnown(ownId) || rooms.take(fact.webhookId) ? ownId : otherId;
    const kind = id === ownId ? fact.kind : otherKind;
    const { webhookId, tenantId } = fact;
    const problem = after.get(id) ?? before.get(id) ?? newProblem({ id, webhookId, tenantId, kind }, fact);
    const isRepeated = id === ownId && repeats(fact, known.earlier.get(fact.lease.ref) ?? []);
    after.set(id, withFailure(problem, { ...fact, isRepeated }));
  }
  const moves = [...after.values()].flatMap((problem) => {
    const was = before.get(problem.id) ?? { ...problem, state: "noticed" };
    return problemMove(was, problem) ?? [];
  });
  return { saved: [...after.values()].toSorted(byId), removedIds: [...rooms.removed], moves };
}

function afterMarks(
  row: StoredProblem,
  batch: Pick<ProblemBatch, "recovering" | "resolved" | "at">,
): DeliveryProblem {
  if (batch.resolved.includes(row.webhookId)) return resolved(row, batch.at);
  return batch.recovering.includes(row.webhookId) ? recovering(row) : row;
}

/** Tracks which webhooks can have another problem kind. */
class Rooms {
  readonly removed = new Set<string>();
  readonly #left = new Map<string, { free: number; readonly spare: RoomRow[] }>();

  constructor(rows: ReadonlyMap<string, readonly RoomRow[]>, now: number) {
    const isSpare = ({ state, lastSeen }: RoomRow): boolean =>
      state === resolvedCode || (state === noticed && now - lastSeen > opensWithinMs);
    for (const [webhookId, all] of rows) {
      const otherId = problemIdOf(webhookId, otherKind);
      const own = all.filter(({ id }) => id !== otherId);
      this.#left.set(webhookId, { free: problemKindsMax - own.length, spare: own.filter(isSpare) });
    }
  }

  /**
   * Reserves room for a new kind and returns whether it fits. Not called for existing kinds, including those added by
   * this batch.
   */
  take(webhookId: string): boolean {
    const left = this.#left.get(webhookId);
    if (left === undefined) return false;
    if (left.free <= 0) {
      const gone = left.spare.shift();
      if (gone === undefined) return false;
      this.removed.add(gone.id);
      return true;
    }
    left.free -= 1;
    return true;
  }
}

function repeats({ kind }: ProblemFact, rows: readonly EarlierRow[]): boolean {
  const own = JSON.stringify(kind);
  return rows.some(([, category, statusCode, responseSample, errorMessage]) => {
    const failure = { statusCode, responseSample, errorMessage };
    const earlier = problemKind({ category: decodeOrNull(categoryCodes, category), ...failure });
    return JSON.stringify(earlier) === own;
  });
}

function byId(left: DeliveryProblem, right: DeliveryProblem): number {
  return left.id < right.id ? -1 : 1;
}

/** The largest possible time. */
const forever = Number.MAX_SAFE_INTEGER;
