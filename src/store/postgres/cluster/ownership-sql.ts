import type { PendingLane } from "../../../ports/store/ownership.ts";
import { decode, priorityCodes } from "../../column-values.ts";
import { numbers } from "../driver/sql.ts";
import { hasWork, lanesFound } from "../events/lane-counters.ts";
import type { StoreState } from "../state.ts";

/** The pool that serves a webhook, given by its number: the pool of its tenant (WDS-220). */
const poolOf = (webhook: string): string =>
  `coalesce((SELECT t.pool FROM posthorn.strings d JOIN posthorn.webhooks w ON w.id = d.string
    JOIN posthorn.tenants t ON t.id = w.tenant WHERE d.ref = ${webhook}), 'default')`;

/**
 * Releases all webhooks that some workers own, in the order of webhook numbers, or transfers them to `heir`. A dead
 * owner did not report its remaining rate limit, so `rate_full_at` stays unchanged.
 */
const freeAllOf = (workers: string, heir = "NULL"): string => `owned AS MATERIALIZED (
    SELECT webhook FROM posthorn.ownership WHERE worker IN (${workers}) ORDER BY webhook FOR UPDATE),
  freed AS (
    UPDATE posthorn.ownership o SET worker = ${heir} FROM owned WHERE o.webhook = owned.webhook RETURNING o.webhook)`;

/** Number of lanes examined for one page of work. Each costs one or two seeks, so the statement stays short. */
export const lanesPerPage = 1_000;

/** Number of webhooks owned by all workers in the pool of `me`, which the surrounding query defines. */
const ownedInPool = `(SELECT count(*) FROM posthorn.ownership o JOIN posthorn.workers w USING (worker)
        WHERE w.pool = (SELECT pool FROM me))`;

/**
 * Acquires unowned webhooks for worker $1 from the worker's pool: up to $2, and no more than an equal share of the
 * webhooks that the workers of that pool own or may acquire, plus $3. `candidates` has a column `webhook` and a column `lane` with the last lane
 * examined. The steps, each computed once:
 *
 * - `me`: the pool of the worker. If this row is missing, the worker was reaped, and no later step finds anything.
 * - `free`: candidates without an owner according to the snapshot, which may be outdated. Pools of webhooks are looked
 *   up only if there are any candidates, because that costs three lookups per candidate.
 * - `facts`, `chosen`: as many as the share allows, chosen at random. Otherwise, workers that read the same page would
 *   compete for the same webhooks and acquire nothing.
 * - `taken`: the decision. A row of `ownership` says whether a webhook is unowned, and ON CONFLICT checks its newest
 *   version, regardless of how many workers try concurrently. The foreign key to `workers` rejects a worker that was
 *   reaped in between. Locked by webhook number, the common order, which prevents deadlocks.
 * - `leftover`, `freed`: every lease in the lanes of a newly owned webhook is a leftover, because the owner has nothing
 *   in flight. Its lease token is incremented, so the former lease owner cannot settle. Locked by position, as in all
 *   other statements.
 *
 * Returns a row for each acquired webhook and each of its lanes with work. If nothing was acquired, it returns one row
 * of nulls, because the caller needs the last two columns for the next page.
 */
const acquire = (candidates: string): string => `WITH RECURSIVE ${candidates},
  me AS MATERIALIZED (SELECT pool FROM posthorn.workers WHERE worker = $1),
  free AS MATERIALIZED (
    SELECT DISTINCT c.webhook FROM candidates c LEFT JOIN posthorn.ownership o ON o.webhook = c.webhook
    WHERE o.worker IS NULL AND c.webhook IS NOT NULL
      AND CASE WHEN EXISTS (SELECT FROM posthorn.tenants WHERE pool <> 'default')
        THEN ${poolOf("c.webhook")} ELSE 'default' END = (SELECT pool FROM me)),
  facts AS MATERIALIZED (
    SELECT (SELECT count(*) FROM posthorn.workers WHERE pool = (SELECT pool FROM me)) AS workers,
      ${ownedInPool} AS owned,
      (SELECT count(*) FROM posthorn.ownership WHERE worker = $1) AS mine, (SELECT count(*) FROM free) AS free),
  chosen AS MATERIALIZED (
    SELECT webhook FROM free ORDER BY random() LIMIT (
      SELECT least($2, greatest(0, ceil((owned + free)::numeric / greatest(workers, 1)) + $3 - mine)) FROM facts)),
  taken AS (
    INSERT INTO posthorn.ownership AS o (webhook, worker, owner_epoch, rate_full_at)
    SELECT c.webhook, w.worker, 1, -1 FROM (SELECT webhook FROM chosen ORDER BY webhook) AS c
    JOIN posthorn.workers w ON w.worker = $1
    ON CONFLICT (webhook) DO UPDATE SET worker = excluded.worker, owner_epoch = o.owner_epoch + 1, rate_handed =
      o.rate_full_at,
      rate_full_at = -1
    WHERE o.worker IS NULL
    RETURNING o.webhook, o.owner_epoch, o.rate_handed),
  leftover AS MATERIALIZED (
    SELECT q.delivery FROM taken t JOIN posthorn.lanes l ON l.webhook = t.webhook
    JOIN posthorn.queue q ON q.lane = l.ref AND q.owner IS NOT NULL ORDER BY q.delivery FOR UPDATE OF q),
  freed AS (
    UPDATE posthorn.queue q SET owner = NULL, lease_until = NULL, lease_token = q.lease_token + 1
    FROM leftover f WHERE q.delivery = f.delivery AND q.owner IS NOT NULL)
  SELECT t.webhook, t.owner_epoch, t.rate_handed, s.webhook IS NOT NULL, s.paused_until, s.pause_reason,
    s.last_success_at,
    s.circuit, s.health, l.ref, (SELECT max(lane) FROM candidates), (SELECT count(*) FROM candidates)
  FROM (SELECT 1) AS always
  LEFT JOIN (taken t JOIN posthorn.strings string ON string.ref = t.webhook
    LEFT JOIN posthorn.webhook_states s ON s.webhook = string.string
    LEFT JOIN posthorn.lanes l ON l.webhook = t.webhook AND ${hasWork("l.ref")}) ON true
  ORDER BY t.webhook, l.ref`;

/** $4: the numbers of the candidate webhooks. */
export const acquireNamedSql = acquire(
  "candidates AS MATERIALIZED (SELECT webhook, 0 AS lane FROM unnest($4::int[]) AS webhook)",
);

/**
 * $4: the lane after which the search starts; $5: numbers of webhooks to skip. Skipped webhooks count as examined, with
 * a null as webhook, because a page that contains only such webhooks must not be mistaken for the last page.
 */
export const acquireWorkSql = acquire(`${lanesFound("$4::int")},
  looked AS MATERIALIZED (SELECT lane FROM found WHERE lane IS NOT NULL LIMIT ${lanesPerPage}),
  candidates AS MATERIALIZED (
    SELECT CASE WHEN l.webhook = ANY ($5::int[]) THEN NULL ELSE l.webhook END AS webhook, k.lane
    FROM looked k JOIN posthorn.lanes l ON l.ref = k.lane)`);

export type AcquireRow = [
  webhook: number | null,
  ownerEpoch: number,
  rateHanded: number | null,
  hasState: boolean,
  pausedUntil: number | null,
  pauseReason: string | null,
  lastSuccessAt: number | null,
  circuit: string | null,
  health: string | null,
  lane: number | null,
  lastLane: number | null,
  looked: number,
];

/**
 * Extends the lifetime of worker $1 by $2 ms and counts the workers and webhooks of its pool. Returns no row if the
 * worker was reaped. Only the database's clock decides. It changes only the worker's own row, so workers never wait for
 * each other here.
 */
export const heartbeatSql = `WITH me AS (
    UPDATE posthorn.workers SET alive_until = clock_timestamp() + $2 * interval '1 millisecond'
    WHERE worker = $1 RETURNING pool)
  SELECT (SELECT count(*) FROM posthorn.workers w
      WHERE w.pool = me.pool AND (worker = $1 OR alive_until > clock_timestamp())),
    ${ownedInPool}
  FROM me`;

/**
 * Removes workers other than $1 that have expired, and releases the webhooks that they owned. Locked rows are skipped
 * until the next round, because a worker whose row is locked may be about to extend its lifetime. The webhooks are
 * locked in the same order as in `release`. The foreign key would release them in no particular order; it finds nothing
 * left to release.
 */
export const reapSql = `WITH dead AS MATERIALIZED (
    SELECT worker FROM posthorn.workers WHERE worker <> $1 AND alive_until <= clock_timestamp()
    ORDER BY worker FOR UPDATE SKIP LOCKED),
  ${freeAllOf("SELECT worker FROM dead")}
  DELETE FROM posthorn.workers w USING dead WHERE w.worker = dead.worker`;

const keptByJoined = `CASE WHEN EXISTS (
      SELECT FROM unnest($5::int[], $6::bigint[]) AS k (webhook, owner_epoch) WHERE k.webhook = o.webhook AND
        k.owner_epoch = o.owner_epoch)
      THEN (SELECT worker FROM joined) END`;

/**
 * Registers a worker of pool $2 that stays alive for $1 ms. Also ends the worker that this process had before a restart
 * of the database: worker $3 with token $4. The token is required, because after a restore the number may belong to
 * another worker. The new worker takes over webhooks $5 of the former one if their owner epochs are still $6: the
 * process has requests or settlements in progress for them, and a new acquisition would invalidate their leases. The
 * other webhooks are released.
 */
export const joinSql = `WITH former AS MATERIALIZED (
    SELECT worker FROM posthorn.workers WHERE worker = $3 AND token = $4::uuid FOR UPDATE SKIP LOCKED),
  joined AS (
    INSERT INTO posthorn.workers (alive_until, pool)
    VALUES (clock_timestamp() + $1 * interval '1 millisecond', $2) RETURNING worker, token),
  ${freeAllOf("SELECT worker FROM former", keptByJoined)},
  ended AS (DELETE FROM posthorn.workers w USING former WHERE w.worker = former.worker)
  SELECT worker, token FROM joined`;

/**
 * Releases the webhooks that worker $1 still owns under the given owner epochs, and stores their state. A delayed call
 * does not release webhooks that the worker has acquired again. Returns the lanes that have work.
 */
export const releaseSql = `WITH given AS (
    SELECT * FROM unnest($2::int[], $3::double precision[], $4::bigint[], $5::text[], $6::bigint[], $7::text[],
      $8::text[], $9::bigint[]) AS g (webhook, rate_full_at, paused_until, pause_reason, last_success_at, circuit, health,
      owner_epoch)),
  mine AS MATERIALIZED (
    SELECT webhook FROM posthorn.ownership WHERE worker = $1 AND webhook = ANY ($2::int[]) ORDER BY webhook FOR UPDATE),
  freed AS (
    UPDATE posthorn.ownership o SET worker = NULL, rate_full_at = g.rate_full_at FROM given g JOIN mine USING (webhook)
    WHERE o.webhook = g.webhook AND o.worker = $1 AND (g.owner_epoch IS NULL OR o.owner_epoch = g.owner_epoch)
      RETURNING o.webhook),
  kept AS (
    INSERT INTO posthorn.webhook_states (webhook, paused_until, pause_reason, last_success_at, circuit, health)
    SELECT string.string, g.paused_until, g.pause_reason, g.last_success_at, g.circuit, g.health
    FROM freed f JOIN given g USING (webhook) JOIN posthorn.strings string ON string.ref = f.webhook
    JOIN posthorn.webhooks w ON w.id = string.string AND w.deleted_at IS NULL
    ORDER BY 1
    ON CONFLICT (webhook) DO UPDATE SET paused_until = excluded.paused_until, pause_reason = excluded.pause_reason,
      last_success_at = excluded.last_success_at, circuit = excluded.circuit, health = excluded.health)
  SELECT l.ref FROM freed f JOIN posthorn.lanes l ON l.webhook = f.webhook WHERE ${hasWork("l.ref")}`;

/** The webhooks of worker $1 except $2, with their owner epochs. */
export const ownedBesideSql = `SELECT webhook, owner_epoch FROM posthorn.ownership
  WHERE worker = $1 AND NOT webhook = ANY ($2::int[])`;

/**
 * Releases webhooks $2, which worker $1 owns under the owner epochs $3 and never served; their remaining rate limit is
 * unchanged. Returns the lanes that have work.
 */
export const freeNamedSql = `WITH mine AS MATERIALIZED (
    SELECT webhook FROM posthorn.ownership WHERE worker = $1 AND webhook = ANY ($2::int[]) ORDER BY webhook FOR UPDATE),
  freed AS (
    UPDATE posthorn.ownership o SET worker = NULL, rate_full_at = rate_handed
    FROM unnest($2::int[], $3::bigint[]) AS g (webhook, owner_epoch) JOIN mine USING (webhook)
    WHERE o.webhook = g.webhook AND o.worker = $1 AND o.owner_epoch = g.owner_epoch RETURNING o.webhook)
  SELECT l.ref FROM freed f JOIN posthorn.lanes l ON l.webhook = f.webhook WHERE ${hasWork("l.ref")}`;

/** Removes worker $1 from its pool. No webhook belongs to the empty pool, so the worker acquires none. */
export const retireSql = "UPDATE posthorn.workers SET pool = '' WHERE worker = $1";

/** Ends worker $1. Returns the lanes that have work. */
export const leaveSql = `WITH ${freeAllOf("SELECT $1::int")},
  gone AS (DELETE FROM posthorn.workers WHERE worker = $1)
  SELECT l.ref FROM freed f JOIN posthorn.lanes l ON l.webhook = f.webhook WHERE ${hasWork("l.ref")}`;

const orderColumns = "SELECT r.ref, r.webhook, r.document FROM posthorn.runtime_orders r";

export const ordersForWorkerSql = `${orderColumns} JOIN posthorn.strings string ON string.string = r.webhook
  JOIN posthorn.ownership o ON o.webhook = string.ref WHERE o.worker = $1 ORDER BY r.ref`;

export const ordersForWebhooksSql = `${orderColumns} WHERE r.webhook = ANY ($1::text[]) ORDER BY r.ref`;

/** Deletes the user commands $2 for webhooks that worker $1 owns. */
export const followedSql = `DELETE FROM posthorn.runtime_orders r USING posthorn.strings string, posthorn.ownership o
  WHERE r.ref = ANY ($2::int[]) AND string.string = r.webhook AND o.webhook = string.ref AND o.worker = $1`;

/** Stores the reports $3 for webhooks $1 with owner epochs $2, in the common lock order. */
export const reportSql = `INSERT INTO posthorn.endpoint_reports AS r (webhook, owner_epoch, document)
  SELECT * FROM unnest($1::int[], $2::bigint[], $3::text[]) ORDER BY 1
  ON CONFLICT (webhook) DO UPDATE SET owner_epoch = excluded.owner_epoch, document = excluded.document WHERE
    r.owner_epoch <= excluded.owner_epoch`;

export const reportsSql = `SELECT d.string, r.owner_epoch, r.document FROM posthorn.strings d
  JOIN posthorn.ownership o ON o.webhook = d.ref AND o.worker IS NOT NULL
  JOIN posthorn.endpoint_reports r ON r.webhook = d.ref AND r.owner_epoch = o.owner_epoch
  WHERE d.string = ANY ($1::text[]) AND r.document <> ''`;

/** Acquires or extends leadership $1 for owner $2, for $3 ms. */
export const acquireLeadershipSql = `INSERT INTO posthorn.leadership AS l VALUES ($1, $2, clock_timestamp() + $3 *
  interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
  WHERE l.owner = excluded.owner OR l.until <= clock_timestamp() RETURNING 1`;

/** Pools that have workers or tenants, with their number of live workers. */
export const poolsSql = `SELECT p.pool, count(w.worker) FROM
  (SELECT 'default' COLLATE "C" AS pool UNION SELECT pool FROM posthorn.tenants WHERE pool <> 'default'
   UNION SELECT pool FROM posthorn.workers WHERE pool <> '') p
  LEFT JOIN posthorn.workers w ON w.pool = p.pool AND w.alive_until > clock_timestamp() GROUP BY p.pool`;

type PendingLanesState = Pick<StoreState, "database" | "lanes">;
type PendingLaneRow = [
  lane: number,
  worker: number | null,
  pool: string,
  free: number | null,
  leased: number | null,
];

/**
 * Lanes with work, with their owner, their pool, and the priority of the first delivery. A lease counts only if the
 * webhook has no owner: such a lease belongs to a dead owner, while a live owner tracks its own leases. There are two
 * lookups, because each partial index covers one kind of row (lane-counters.ts). Each lookup reads one index row,
 * regardless of the number of waiting deliveries.
 */
const pendingLanesSql = (lanes: string): string => `SELECT l.ref, o.worker, ${poolOf("l.webhook")},
    (SELECT q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NULL ORDER BY q.queue_position LIMIT
      1),
    (SELECT q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NOT NULL LIMIT 1)
  FROM ${lanes} AS given (ref) JOIN posthorn.lanes l USING (ref)
  LEFT JOIN posthorn.ownership o ON o.webhook = l.webhook
  ORDER BY l.ref`;

const namedSql = pendingLanesSql("unnest($1::int[])");

const pageSql = `WITH RECURSIVE ${lanesFound("$1::int")},
  looked AS MATERIALIZED (SELECT lane FROM found WHERE lane IS NOT NULL LIMIT $2)
  ${pendingLanesSql("looked")}`;

/** Returns which of the given lanes are pending. Lanes are given by number. */
export async function pendingLanesIn(
  state: PendingLanesState,
  refs: readonly number[],
): Promise<readonly PendingLane[]> {
  const rows = await state.database.rows<PendingLaneRow>(namedSql, [numbers(refs)]);
  return pendingLanesOf(state, rows);
}

/** A page of all pending lanes, and where the next page starts. */
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
