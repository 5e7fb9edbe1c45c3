import { type ClaimedRow, claimedSql } from "../claimed-delivery.ts";
import { tierSpan } from "../queue-position.ts";
import { hasFree, hasLeased } from "./lanes-with-work.ts";
import { plannedEachTime } from "./named-statements.ts";

/** Beyond every queue position of an ordered lane, which is a publish position. */
const orderedMax = 2 ** 53;
const tiers = [0, 1, 2] as const;

/**
 * Free deliveries of one priority that may be claimed now, in order; locks them, and passes over what others lock. One look
 * for each priority, because what is due of the next one begins elsewhere in the index, behind what is not due of this one.
 */
function freeInTier(tier: number): string {
  return `SELECT * FROM (
      SELECT q.delivery, q.rank, q.bytes FROM posthorn.queue q
      WHERE q.lane = w.lane AND q.owner IS NULL AND q.rank >= w.from${tier} AND q.rank <= w.to${tier}
      ORDER BY q.rank, q.delivery LIMIT w.wanted FOR UPDATE SKIP LOCKED) AS tier${tier}`;
}

const behindLast = "(q.rank, q.delivery) > (last.rank, last.delivery)";

/** One comparison of rows says where to start. With two the index would start at the first and read on to the second. */
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
 * Claims from many lanes. Every look into the queue starts at a place of an index and stops after what it returns, so
 * that nothing depends on how much waits.
 *
 * - A lane with leases that ran out is `stale`: nothing is taken from it, and the caller frees them first.
 * - In an ordered lane nothing is taken while another process holds a lease. The caller has locked the lane.
 * - `more` and `later` look behind the last one taken; what others hold is only asked for when nothing is left to take.
 *
 * Step by step: `wanted` are the requests, with where each priority begins and how far it is due (`from`, `to`); `picked`
 * locks the first free ones of each lane; `kept` are those whose bodies fit, one at least; `leased` writes; `summary` looks
 * at what is left. MATERIALIZED keeps them apart, so that each looks where it is told to and nothing is planned as a join of
 * the queue with itself (claim-cost.pg.test.ts holds that).
 *
 * Whose event and whose webhook it is, is read from the rows, never from what was remembered: the sender compares them.
 *
 * One row for each lane, and one for each delivery, in no order: sorting them would mean sorting bodies.
 *
 * `ANY`, `OFFSET 0` and the look for `due_at` keep a plan that was made while tables were nearly empty from reading an
 * index from end to end when they are full. It would still compare each row that is found with all others, so that a claim
 * of many is planned for them.
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
    c.delivery, c.fence, c.attempts, ${claimedSql({ timestamp: "e.occurred_at" })}, c.rank
  FROM leased c CROSS JOIN LATERAL (SELECT * FROM posthorn.deliveries d WHERE d.seq = c.delivery OFFSET 0) AS d
  CROSS JOIN LATERAL (SELECT * FROM posthorn.events e WHERE e.seq = d.event OFFSET 0) AS e
  LEFT JOIN posthorn.words tenant ON tenant.ref = e.tenant LEFT JOIN posthorn.words webhook ON webhook.ref = d.webhook
  LEFT JOIN posthorn.webhooks w ON w.id = webhook.word`;
}

/** For few, with a plan that is kept. */
export const claimSql = claimSqlWith("q.delivery = ANY (ARRAY(SELECT delivery FROM kept)) AND ");

/** For many. */
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

/** Places of columns, for code that needs some of so many. A delivery has a `ref`, the row about its lane has none. */
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
  /** Of the delivery (claimed-delivery.ts), which begins with its id. */
  id: 13,
  eventType: 18,
  attemptCount: 21,
  contentType: 31,
  queuePosition: 39,
} as const;

/** Leases that ran out become free again. Their tokens stay, so that a late settlement counts if nobody was faster. */
export const freeExpiredSql = `UPDATE posthorn.queue SET owner = NULL, lease_until = NULL WHERE delivery IN (
    SELECT q.delivery FROM unnest($1::int[], $2::bigint[]) AS g (lane, now)
    JOIN posthorn.queue q ON q.lane = g.lane AND q.owner IS NOT NULL AND q.lease_until <= g.now
    FOR UPDATE OF q SKIP LOCKED)`;

/**
 * Frees foreign leases: leases of another process than $3 in lanes $1, whose webhooks worker $2 owns. Such a lease
 * comes from a call that was given up and reached the server after the webhook had gone to another worker; acquiring
 * the webhook freed all earlier leases. The lease token is raised, so that nobody settles it.
 */
export const freeForeignLeasesSql = `UPDATE posthorn.queue SET owner = NULL, lease_until = NULL, fence = fence + 1
  WHERE delivery IN (
    SELECT q.delivery FROM posthorn.lanes l JOIN posthorn.ownership o ON o.webhook = l.webhook
    JOIN posthorn.queue q ON q.lane = l.ref AND q.owner IS NOT NULL AND q.owner <> $3
    WHERE l.ref = ANY ($1::int[]) AND o.worker = $2 FOR UPDATE OF q SKIP LOCKED)
  RETURNING lane`;
