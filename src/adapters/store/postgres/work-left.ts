import type { LaneLeft } from "../../../ports/store/ownership.ts";
import { decode, priorityCodes } from "../codes.ts";
import { numbers } from "./columns.ts";
import { lanesFound } from "./lanes-with-work.ts";
import { poolOf } from "./ownership-sql.ts";
import type { StoreState } from "./state.ts";

type LeftState = Pick<StoreState, "database" | "lanes">;
type LeftRow = [
  lane: number,
  worker: number | null,
  pool: string,
  free: number | null,
  leased: number | null,
];

/**
 * Lanes with work, their owner, their pool, and the priority of what comes first. What is leased counts only where nobody
 * owns the webhook: a dead owner left it, while what an owner has leased it knows of. Two looks, because each partial index
 * knows one kind of row (lanes-with-work.ts); each reads one row of the index, however much waits in the lane.
 */
const leftSql = (lanes: string): string => `SELECT l.ref, o.worker, ${poolOf("l.webhook")},
    (SELECT q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NULL ORDER BY q.rank LIMIT 1),
    (SELECT q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NOT NULL LIMIT 1)
  FROM ${lanes} AS given (ref) JOIN posthorn.lanes l USING (ref)
  LEFT JOIN posthorn.ownership o ON o.webhook = l.webhook
  ORDER BY l.ref`;

const namedSql = leftSql("unnest($1::int[])");

const pageSql = `WITH RECURSIVE ${lanesFound("$1::int")},
  looked AS MATERIALIZED (SELECT lane FROM found WHERE lane IS NOT NULL LIMIT $2)
  ${leftSql("looked")}`;

/** What is left to do in lanes of which the numbers are known. */
export async function workLeftIn(state: LeftState, refs: readonly number[]): Promise<readonly LaneLeft[]> {
  const rows = await state.database.rows<LeftRow>(namedSql, [numbers(refs)]);
  return lanesLeft(state, rows);
}

/** A page of all lanes with work, and where the next one starts. */
export async function workLeftAfter(
  state: LeftState,
  page: { readonly after: number; readonly limit: number },
): Promise<{ readonly left: readonly LaneLeft[]; readonly next: number | null }> {
  const rows = await state.database.rows<LeftRow>(pageSql, [page.after, page.limit]);
  const last = rows.at(-1)?.[0] ?? null;
  return { left: await lanesLeft(state, rows), next: rows.length < page.limit ? null : last };
}

async function lanesLeft(state: LeftState, rows: readonly LeftRow[]): Promise<readonly LaneLeft[]> {
  const { lanes } = state;
  await lanes.load(rows.map(([ref]) => ref));
  return rows.flatMap(([ref, worker, pool, free, leased]): readonly LaneLeft[] => {
    const priority = free ?? (worker === null ? leased : null);
    if (priority === null) return [];
    return [{ lane: lanes.byRef(ref).key, worker, pool, priority: decode(priorityCodes, priority) }];
  });
}
