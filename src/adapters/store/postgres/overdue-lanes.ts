import type { LanePage } from "../../../ports/store/deliveries.ts";
import type { OverdueQuery } from "../../../ports/store/ownership.ts";
import { orderingCodes } from "../codes.ts";
import { tierSpan } from "../queue-position.ts";
import { hasFree, hasLeased, lanesFound } from "./lanes-with-work.ts";
import type { StoreState } from "./state.ts";

type OverdueRow = [lane: number, overdue: boolean];

const tiers = [0, 1, 2] as const;

const freeDue = (tier: number): string =>
  hasFree(
    "l.ref",
    `q.rank >= ${tier * tierSpan} AND q.rank <= ${tier * tierSpan} + least(greatest($4::bigint, 0), ${tierSpan - 1})`,
  );

const leased = (until: string): string => hasLeased("l.ref", `q.lease_until ${until}`);

/**
 * The oldest delivery of an ordered lane without running leases: the first free one, or one whose lease expired; there
 * are no more of those than a process holds in memory.
 */
const headDueAt = `(SELECT d.due_at FROM (
      (SELECT q.delivery, q.rank FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NULL
        ORDER BY q.rank, q.delivery LIMIT 1)
      UNION ALL SELECT q.delivery, q.rank FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NOT NULL) AS first
    JOIN posthorn.deliveries d ON d.seq = first.delivery ORDER BY first.rank, first.delivery LIMIT 1)`;

/**
 * A page of $2 lanes with work after lane $1, and whether worker $3 could have claimed deliveries in them since $4.
 * Each lookup reads a row or two of an index (lanes-with-work.ts), and only for webhooks that the worker owns.
 */
const overdueSql = `WITH RECURSIVE ${lanesFound("$1::int")},
  looked AS MATERIALIZED (SELECT lane FROM found WHERE lane IS NOT NULL LIMIT $2)
  SELECT l.ref, CASE WHEN o.webhook IS NULL THEN false
    WHEN l.ordering = ${orderingCodes.encode.none} THEN ${tiers.map(freeDue).join("\n      OR ")} OR ${leased("<= $4")}
    WHEN ${leased("> $4")} THEN false
    ELSE coalesce(${headDueAt} <= $4, false) END
  FROM looked JOIN posthorn.lanes l ON l.ref = looked.lane
  LEFT JOIN posthorn.ownership o ON o.webhook = l.webhook AND o.worker = $3
  ORDER BY l.ref`;

/** Lanes from which the owner could have claimed long ago and did not. */
export async function overdueLanes(
  { database, lanes }: Pick<StoreState, "database" | "lanes">,
  { worker, before, after, limit }: OverdueQuery,
): Promise<LanePage> {
  const from = after === null ? 0 : Number(after);
  const rows = await database.rows<OverdueRow>(overdueSql, [from, limit, worker, before]);
  const found = rows.filter(([, overdue]) => overdue).map(([ref]) => ref);
  await lanes.load(found);
  const last = rows.at(-1)?.[0];
  return {
    lanes: found.map((ref) => lanes.byRef(ref).key),
    next: rows.length < limit || last === undefined ? null : String(last),
  };
}
