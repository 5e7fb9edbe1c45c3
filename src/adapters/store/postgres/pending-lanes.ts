import type { PendingLane } from "../../../ports/store/ownership.ts";
import { decode, priorityCodes } from "../codes.ts";
import { numbers } from "./columns.ts";
import { lanesFound } from "./lanes-with-work.ts";
import { poolOf } from "./ownership-sql.ts";
import type { StoreState } from "./state.ts";

type PendingLanesState = Pick<StoreState, "database" | "lanes">;
type PendingLaneRow = [
  lane: number,
  worker: number | null,
  pool: string,
  free: number | null,
  leased: number | null,
];

/**
 * Lanes with work, their owner, their pool, and the priority of the first delivery. A lease counts only if the webhook
 * has no owner: then it belongs to a dead owner, while a live owner knows its leases. Two lookups, because each partial
 * index covers one kind of row (lanes-with-work.ts); each reads one index row, however much waits in the lane.
 */
const pendingLanesSql = (lanes: string): string => `SELECT l.ref, o.worker, ${poolOf("l.webhook")},
    (SELECT q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NULL ORDER BY q.rank LIMIT 1),
    (SELECT q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NOT NULL LIMIT 1)
  FROM ${lanes} AS given (ref) JOIN posthorn.lanes l USING (ref)
  LEFT JOIN posthorn.ownership o ON o.webhook = l.webhook
  ORDER BY l.ref`;

const namedSql = pendingLanesSql("unnest($1::int[])");

const pageSql = `WITH RECURSIVE ${lanesFound("$1::int")},
  looked AS MATERIALIZED (SELECT lane FROM found WHERE lane IS NOT NULL LIMIT $2)
  ${pendingLanesSql("looked")}`;

/** Those of the given lanes that are pending, by number. */
export async function pendingLanesIn(
  state: PendingLanesState,
  refs: readonly number[],
): Promise<readonly PendingLane[]> {
  const rows = await state.database.rows<PendingLaneRow>(namedSql, [numbers(refs)]);
  return pendingLanesOf(state, rows);
}

/** A page of all pending lanes, and where the next one starts. */
export async function pendingLanesAfter(
  state: PendingLanesState,
  after: number,
  limit: number,
): Promise<{ readonly lanes: readonly PendingLane[]; readonly next: number | null }> {
  const rows = await state.database.rows<PendingLaneRow>(pageSql, [after, limit]);
  const last = rows.at(-1)?.[0] ?? null;
  return { lanes: await pendingLanesOf(state, rows), next: rows.length < limit ? null : last };
}

async function pendingLanesOf(
  state: PendingLanesState,
  rows: readonly PendingLaneRow[],
): Promise<readonly PendingLane[]> {
  const { lanes } = state;
  await lanes.load(rows.map(([ref]) => ref));
  return rows.flatMap(([ref, worker, pool, free, leased]): readonly PendingLane[] => {
    const priority = free ?? (worker === null ? leased : null);
    if (priority === null) return [];
    return [{ lane: lanes.byRef(ref).key, worker, pool, priority: decode(priorityCodes, priority) }];
  });
}
