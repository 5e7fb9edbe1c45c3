import { type ClaimedRow, claimedSql } from "../claimed-delivery.ts";
import { tierSpan } from "../queue-position.ts";
import { hasFree, hasLeased } from "./lanes-with-work.ts";
import { plannedEachTime } from "./named-statements.ts";

/** Greater than every queue position in an ordered lane, which is a publish position. */
const orderedMax = 2 ** 53;
const tiers = [0, 1, 2] as const;

/**
 * Free deliveries of one priority that may be claimed now, in order. Locks them and skips rows locked by others. One
 * lookup per priority: the due rows of the next priority start elsewhere in the index, behind rows of this priority
 * that are not due.
 */
function freeInTier(tier: number): string {
  return `SELECT * FROM (
      SELECT q.delivery, q.rank, q.bytes FROM posthorn.queue q
      WHERE q.lane = w.lane AND q.owner IS NULL AND q.rank >= w.from${tier} AND q.rank <= w.to${tier}
      ORDER BY q.rank, q.delivery LIMIT w.wanted FOR UPDATE SKIP LOCKED) AS tier${tier}`;
}

const behindLast = "(q.rank, q.delivery) > (last.rank, last.delivery)";

/**
 * A single row comparison defines the start. With two conditions the index scan would start at the first and read on to
 * the second.
 */
function moreInTier(tier: number): string {
  return hasFree(
    "w.lane",
    `q.rank <= w.to${tier} AND (q.rank, q.delivery) > (greatest(last.rank, w.from${tier}),
        CASE WHEN last.rank < w.from${tier} THEN -1 ELSE last.delivery END)`,
  );
}

function laterInTier(tier: number): string {
  return `(SELECT q.rank - w.from${tier} FROM posthorn.queue q WHERE q.lane = w.lane AND q.owner IS NULL
      AND q.rank > w.to${tier} AND q.rank < w.from${tier} + ${tierSpan} ORDER BY q.rank, q.delivery LIMIT 1)`;
}

const othersLeaseEnd = `(SELECT min(q.lease_until) FROM posthorn.queue q
      WHERE q.lane = w.lane AND q.owner IS NOT NULL AND q.owner <> $8 AND q.lease_until > w.now)`;

/**
 * Claims from many lanes. Every lookup in the queue starts at a position of an index and stops after the rows that it
 * returns, so the cost does not depend on the number of waiting deliveries.
 *
 * - A lane with expired leases is `stale`: nothing is claimed from it, and the caller frees them first.
 * - In an ordered lane nothing is claimed while another process holds a lease. The caller has locked the lane.
 * - `more` and `later` look behind the last claimed row; leases of others are looked up only when nothing is left to
 *   claim.
 *
 * The steps: `wanted` are the requests, with the start of each priority and how far it is due (`from`, `to`); `picked`
 * locks the first free rows of each lane; `kept` are those whose bodies fit, at least one; `leased` writes; `summary`
 * looks at the remaining rows. MATERIALIZED separates them, so that each uses the intended index and none is planned as
 * a join of the queue with itself (claim-cost.pg.test.ts checks that).
 *
 * Tenant and webhook are read from the rows, never from memory: the sender compares them.
 *
 * Returns one row per lane and one per delivery, unordered, because sorting would move the bodies.
 *
 * `ANY`, `OFFSET 0` and the lookup of `due_at` matter for plans made while the tables were nearly empty. They keep such
 * a plan from reading an index from end to end when the tables are full. It would still compare each found row with all
 * others, so claims of many deliveries are planned each time.
 */
function claimSqlWith(keysBounded: string): string {
  return `WITH wanted AS MATERIALIZED (
    SELECT g.*, CASE WHEN g.ordered THEN ${othersLeaseEnd.replaceAll("w.", "g.")} END AS blocked_until,
      g.fresh AND ${hasLeased("g.lane", "q.lease_until <= g.now")} AS stale,
      ${tiers
        .map(
          (
            tier,
          ) => `CASE WHEN g.ordered THEN ${tier === 0 ? 0 : 1} ELSE ${tier * tierSpan} END AS from${tier},
      CASE WHEN g.ordered THEN ${tier === 0 ? orderedMax : 0}
        ELSE ${tier * tierSpan} + least(greatest(g.now, 0), ${tierSpan - 1}) END AS to${tier}`,
        )
        .join(",\n      ")}
    FROM unnest($1::int[], $2::boolean[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[])
      WITH ORDINALITY AS g (lane, ordered, wanted, bytes_max, now, lease_until, fresh, at)),
  picked AS MATERIALIZED (
    SELECT w.at, w.bytes_max, w.lease_until, p.* FROM wanted w CROSS JOIN LATERAL (
      SELECT * FROM (${tiers.map(freeInTier).join("\n      UNION ALL ")}) AS free LIMIT w.wanted) AS p
    WHERE NOT w.stale AND w.blocked_until IS NULL),
  kept AS MATERIALIZED (
    SELECT at, lease_until, delivery, rank FROM (
      SELECT *, sum(bytes) OVER (PARTITION BY at ORDER BY rank, delivery ROWS UNBOUNDED PRECEDING) - bytes AS before
      FROM picked) AS counted
    WHERE before = 0 OR before < bytes_max),
  leased AS (
    UPDATE posthorn.queue q SET owner = $8, fence = q.fence + 1, lease_until = k.lease_until
    FROM kept k WHERE ${keysBounded}q.delivery = k.delivery
    RETURNING k.at, q.delivery, q.rank, q.fence, q.attempts),
  summary AS MATERIALIZED (
    SELECT w.at, w.now, w.ordered, w.stale, w.blocked_until, head.priority AS head_priority, head.due_at AS head_due,
      left_over.*
    FROM wanted w
    LEFT JOIN (SELECT DISTINCT ON (at) at, rank, delivery FROM kept ORDER BY at, rank DESC, delivery DESC) AS taken
      ON taken.at = w.at
    CROSS JOIN LATERAL (SELECT coalesce(taken.rank, -1) AS rank, coalesce(taken.delivery, 0) AS delivery) AS last
    LEFT JOIN LATERAL (
      SELECT q.priority, (SELECT d.due_at FROM posthorn.deliveries d WHERE d.seq = q.delivery) AS due_at
      FROM posthorn.queue q WHERE w.ordered AND w.blocked_until IS NULL AND q.lane = w.lane AND q.owner IS NULL AND ${behindLast}
      ORDER BY q.rank, q.delivery LIMIT 1) AS head ON true
    CROSS JOIN LATERAL (
      SELECT NOT w.ordered AND ${moreInTier(0)} AS more0, NOT w.ordered AND ${moreInTier(1)} AS more1,
        NOT w.ordered AND ${moreInTier(2)} AS more2,
        CASE WHEN NOT w.ordered THEN least(${tiers.map(laterInTier).join(",\n        ")}) END AS later) AS left_over)
  SELECT s.at::int, s.stale, s.blocked_until, s.head_priority, s.head_due, s.more0, s.more1, s.more2, s.later,
    CASE WHEN NOT (s.more0 OR s.more1 OR s.more2 OR s.ordered)
      THEN (SELECT ${othersLeaseEnd} FROM wanted w WHERE w.at = s.at) END,
    NULL::bigint, NULL::int, NULL::int, NULL::uuid, NULL::text, NULL::text, NULL::text, NULL::uuid, NULL::int,
    NULL::smallint, NULL::smallint, NULL::int, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::smallint, NULL::bigint, NULL::text,
    NULL::text, NULL::bigint, NULL::int, NULL::boolean, NULL::smallint, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bigint, NULL::int, NULL::bigint
  FROM summary s
  UNION ALL
  SELECT c.at::int, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    c.delivery, c.fence, c.attempts, ${claimedSql("e.occurred_at")}, c.rank
  FROM leased c CROSS JOIN LATERAL (SELECT * FROM posthorn.deliveries d WHERE d.seq = c.delivery OFFSET 0) AS d
  CROSS JOIN LATERAL (SELECT * FROM posthorn.events e WHERE e.seq = d.event OFFSET 0) AS e
  LEFT JOIN posthorn.words tenant ON tenant.ref = e.tenant LEFT JOIN posthorn.words webhook ON webhook.ref = d.webhook
  LEFT JOIN posthorn.webhooks w ON w.id = webhook.word`;
}

/** For few deliveries, with a cached plan. */
export const claimSql = claimSqlWith("q.delivery = ANY (ARRAY(SELECT delivery FROM kept)) AND ");

/** For many deliveries. */
export const claimManySql = plannedEachTime + claimSqlWith("");

export type ClaimRow = [
  place: number,
  stale: boolean,
  blockedUntil: number | null,
  headPriority: number | null,
  headDue: number | null,
  moreHigh: boolean,
  moreNormal: boolean,
  moreLow: boolean,
  later: number | null,
  othersLeaseEnd: number | null,
  ref: number | null,
  leaseToken: number,
  attempts: number,
  ...delivery: ClaimedRow,
  queuePosition: number,
];

/** Column positions, for code that needs only some columns. A delivery has a `ref`, the row about its lane has none. */
export const claimColumns = {
  place: 0,
  stale: 1,
  blockedUntil: 2,
  headPriority: 3,
  headDue: 4,
  moreHigh: 5,
  moreNormal: 6,
  moreLow: 7,
  later: 8,
  othersLeaseEnd: 9,
  ref: 10,
  leaseToken: 11,
  attempts: 12,
  /** The first column of the delivery (claimed-delivery.ts). */
  id: 13,
  eventType: 18,
  attemptCount: 21,
  contentType: 31,
  queuePosition: 39,
} as const;

/** Frees expired leases. Their tokens stay, so that a late settlement counts if no other process was faster. */
export const freeExpiredSql = `UPDATE posthorn.queue SET owner = NULL, lease_until = NULL WHERE delivery IN (
    SELECT q.delivery FROM unnest($1::int[], $2::bigint[]) AS g (lane, now)
    JOIN posthorn.queue q ON q.lane = g.lane AND q.owner IS NOT NULL AND q.lease_until <= g.now
    FOR UPDATE OF q SKIP LOCKED)`;

/**
 * Frees foreign leases: leases of another process than $3 in lanes $1, whose webhooks worker $2 owns. Such a lease
 * comes from a cancelled call that reached the server after the webhook had moved to another worker; acquiring the
 * webhook freed all earlier leases. The lease token is raised, so that its holder cannot settle.
 */
export const freeForeignLeasesSql = `UPDATE posthorn.queue SET owner = NULL, lease_until = NULL, fence = fence + 1
  WHERE delivery IN (
    SELECT q.delivery FROM posthorn.lanes l JOIN posthorn.ownership o ON o.webhook = l.webhook
    JOIN posthorn.queue q ON q.lane = l.ref AND q.owner IS NOT NULL AND q.owner <> $3
    WHERE l.ref = ANY ($1::int[]) AND o.worker = $2 FOR UPDATE OF q SKIP LOCKED)
  RETURNING lane`;
