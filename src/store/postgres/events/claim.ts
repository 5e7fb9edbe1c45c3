import type { Priority } from "../../../domain/delivery.ts";
import type { ClaimRequest, ClaimResult, Lease } from "../../../ports/store/deliveries.ts";
import { type ClaimedRow, claimedSql, toClaimedDelivery } from "../../claimed-delivery.ts";
import { decode, priorityCodes, tierSpan } from "../../column-values.ts";
import { booleans, numbers } from "../driver/sql.ts";
import type { Runner } from "../driver/database.ts";
import { plannedEachTime } from "../driver/named-statements.ts";
import type { StoredLane } from "../driver/string-table.ts";
import type { StoreState } from "../state.ts";
import { hasFree, hasLeased } from "./lane-counters.ts";
import type { LostLeases } from "./lost-leases.ts";

/** Greater than every queue position in an ordered lane. Queue positions there are publish positions. */
const orderedMax = 2 ** 53;
const tiers = [0, 1, 2] as const;

/**
 * Unleased deliveries of one priority that may be claimed now, in order. Locks them and skips rows locked by others.
 * There is one lookup per priority, because the due rows of the next priority start at another place in the index,
 * after the rows of this priority that are not due.
 */
function freeInTier(tier: number): string {
  return `SELECT * FROM (
      SELECT q.delivery, q.queue_position, q.bytes FROM posthorn.queue q
      WHERE q.lane = w.lane AND q.owner IS NULL AND q.queue_position >= w.from${tier} AND q.queue_position <=
        w.to${tier}
      ORDER BY q.queue_position, q.delivery LIMIT w.wanted FOR UPDATE SKIP LOCKED) AS tier${tier}`;
}

const behindLast = "(q.queue_position, q.delivery) > (last.queue_position, last.delivery)";

/**
 * A single row comparison defines the start. With two conditions, the index scan would start at the position of the
 * first condition and read all rows up to the second.
 */
function moreInTier(tier: number): string {
  return hasFree(
    "w.lane",
    `q.queue_position <= w.to${tier} AND (q.queue_position, q.delivery) > (greatest(last.queue_position, w.from${tier}),
        CASE WHEN last.queue_position < w.from${tier} THEN -1 ELSE last.delivery END)`,
  );
}

function laterInTier(tier: number): string {
  return `(SELECT q.queue_position - w.from${tier} FROM posthorn.queue q WHERE q.lane = w.lane AND q.owner IS NULL
      AND q.queue_position > w.to${tier} AND q.queue_position < w.from${tier} + ${tierSpan} ORDER BY q.queue_position,
        q.delivery LIMIT 1)`;
}

const othersLeaseEnd = `(SELECT min(q.lease_until) FROM posthorn.queue q
      WHERE q.lane = w.lane AND q.owner IS NOT NULL AND q.owner <> $8 AND q.lease_until > w.now)`;

/**
 * Claims from many lanes. Every lookup in the queue starts at a position of an index and stops after the rows that it
 * returns, so the cost does not depend on the number of waiting deliveries.
 *
 * - A lane with expired leases is `stale`: nothing is claimed from it, and the caller first releases these leases.
 * - In an ordered lane nothing is claimed while another process holds a lease. The caller has locked the lane.
 * - `more` and `later` check the rows after the last claimed row; leases of others are looked up only if there is nothing
 *   left to claim.
 *
 * The steps: `wanted` are the requests, with the start of each priority and the limit up to which it is due (`from`,
 * `to`); `picked` locks the first unleased rows of each lane; `kept` are those whose bodies fit, at least one; `leased`
 * writes; `summary` checks the remaining rows. MATERIALIZED separates the steps, so that each uses the intended index and
 * none is planned as a join of the queue with itself (claim-cost.pg.test.ts checks that).
 *
 * Tenant and webhook are read from the rows, never from memory, because the sender compares them.
 *
 * Returns one row per lane and one per delivery, unordered, because sorting would copy the bodies.
 *
 * `ANY`, `OFFSET 0` and the lookup of `due_at` matter for plans that were created while the tables were nearly empty. They
 * prevent such a plan from reading an index from end to end when the tables are full. It would still compare each found
 * row with all others, so claims of many deliveries are planned each time.
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
    SELECT at, lease_until, delivery, queue_position FROM (
      SELECT *, sum(bytes) OVER (PARTITION BY at ORDER BY queue_position, delivery ROWS UNBOUNDED PRECEDING) - bytes
        AS before
      FROM picked) AS counted
    WHERE before = 0 OR before < bytes_max),
  leased AS (
    UPDATE posthorn.queue q SET owner = $8, lease_token = q.lease_token + 1, lease_until = k.lease_until
    FROM kept k WHERE ${keysBounded}q.delivery = k.delivery
    RETURNING k.at, q.delivery, q.queue_position, q.lease_token, q.attempts),
  summary AS MATERIALIZED (
    SELECT w.at, w.now, w.ordered, w.stale, w.blocked_until, head.priority AS head_priority, head.due_at AS head_due,
      left_over.*
    FROM wanted w
    LEFT JOIN (SELECT DISTINCT ON (at) at, queue_position, delivery FROM kept ORDER BY at, queue_position DESC,
      delivery DESC) AS taken
      ON taken.at = w.at
    CROSS JOIN LATERAL (SELECT coalesce(taken.queue_position, -1) AS queue_position, coalesce(taken.delivery, 0) AS
      delivery) AS last
    LEFT JOIN LATERAL (
      SELECT q.priority, (SELECT d.due_at FROM posthorn.deliveries d WHERE d.seq = q.delivery) AS due_at
      FROM posthorn.queue q WHERE w.ordered AND w.blocked_until IS NULL AND q.lane = w.lane AND q.owner IS NULL AND ${behindLast}
      ORDER BY q.queue_position, q.delivery LIMIT 1) AS head ON true
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
    c.delivery, c.lease_token, c.attempts, ${claimedSql("e.occurred_at")}, c.queue_position
  FROM leased c CROSS JOIN LATERAL (SELECT * FROM posthorn.deliveries d WHERE d.seq = c.delivery OFFSET 0) AS d
  CROSS JOIN LATERAL (SELECT * FROM posthorn.events e WHERE e.seq = d.event OFFSET 0) AS e
  LEFT JOIN posthorn.strings tenant ON tenant.ref = e.tenant LEFT JOIN posthorn.strings webhook ON webhook.ref =
    d.webhook
  LEFT JOIN posthorn.webhooks w ON w.id = webhook.string`;
}

/** Claims few deliveries, with a cached plan. */
export const claimSql = claimSqlWith("q.delivery = ANY (ARRAY(SELECT delivery FROM kept)) AND ");

/** Claims many deliveries; planned each time. */
const claimManySql = plannedEachTime + claimSqlWith("");

type ClaimRow = [
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

/**
 * Column positions, for code that needs only some columns. Rows about deliveries have a `ref`; rows about lanes do not.
 */
const claimColumns = {
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
  /** The first column of the claimed delivery (claimed-delivery.ts). */
  id: 13,
  eventType: 18,
  attemptCount: 21,
  contentType: 31,
  queuePosition: 39,
} as const;

/**
 * Releases expired leases. Their tokens are kept, so that a late settlement counts if no other process has leased the
 * delivery.
 */
const freeExpiredSql = `UPDATE posthorn.queue SET owner = NULL, lease_until = NULL WHERE delivery IN (
    SELECT q.delivery FROM unnest($1::int[], $2::bigint[]) AS g (lane, now)
    JOIN posthorn.queue q ON q.lane = g.lane AND q.owner IS NOT NULL AND q.lease_until <= g.now
    FOR UPDATE OF q SKIP LOCKED)`;

/**
 * Releases foreign leases: leases of processes other than $3 in lanes $1, whose webhooks worker $2 owns. Such a lease
 * comes from a cancelled call that reached the server after the webhook had moved to another worker; acquiring the
 * webhook released all earlier leases. The lease token is incremented, so that the former lease owner cannot settle.
 */
const freeForeignLeasesSql = `UPDATE posthorn.queue SET owner = NULL, lease_until = NULL, lease_token = lease_token + 1
  WHERE delivery IN (
    SELECT q.delivery FROM posthorn.lanes l JOIN posthorn.ownership o ON o.webhook = l.webhook
    JOIN posthorn.queue q ON q.lane = l.ref AND q.owner IS NOT NULL AND q.owner <> $3
    WHERE l.ref = ANY ($1::int[]) AND o.worker = $2 FOR UPDATE OF q SKIP LOCKED)
  RETURNING lane`;

/** A request whose lane exists, with its index among the requests. */
interface Wanted {
  readonly place: number;
  readonly lane: StoredLane;
  readonly request: ClaimRequest;
  /** True if the lane's expired leases have not been released yet. */
  readonly fresh: boolean;
}

/** When to retry an ordered lane from which another process is currently claiming, or a lane with foreign leases. */
const againMs = 100;
/** A claim of at most this many deliveries, after a claim that found few, uses the plan for few deliveries. */
const fewWanted = 256;
const fewFound = 16;

/**
 * Claims deliveries. Leases are written into the rows, so that several processes share the work.
 *
 * Unordered lanes need no lock: concurrent claims skip each other's rows. An ordered lane is locked during the
 * statement (its row in `lanes`), because its head must not be skipped. Expired leases, and leases lost with a
 * connection, are released first and the claim is then repeated, so that the usual claim needs only one statement.
 */
export class Claimer {
  readonly #state: StoreState;
  readonly #release: (leases: readonly Lease[]) => Promise<void>;
  readonly #lost: LostLeases;
  /** Number of deliveries found by the last claim. */
  #found = Number.POSITIVE_INFINITY;

  constructor(state: StoreState, release: (leases: readonly Lease[]) => Promise<void>, lost: LostLeases) {
    this.#state = state;
    this.#release = release;
    this.#lost = lost;
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    const { lanes } = this.#state;
    await lanes.lookUp(requests.map(({ lane }) => lane));
    const results: ClaimResult[] = requests.map(() => nothing(null));
    for (const round of roundsOf(
      requests.map((request, place) => ({ place, request, lane: lanes.find(request.lane) })),
    )) {
      await this.#claimRound(round, results);
    }
    return results;
  }

  async #claimRound(wanted: readonly Wanted[], results: ClaimResult[]): Promise<void> {
    if (wanted.length === 0) return;
    const stale = await this.#attempt(wanted, results);
    if (stale.length === 0) return;
    await this.#state.database.rows(freeExpiredSql, [
      numbers(stale.map(({ lane }) => lane.ref)),
      numbers(stale.map(({ request }) => request.now)),
    ]);
    await this.#attempt(
      stale.map(({ place, lane, request }) => ({ place, lane, request, fresh: false })),
      results,
    );
  }

  /**
   * Fills in the results. Returns the requests that must be repeated, because expired leases have to be released first.
   */
  async #attempt(wanted: readonly Wanted[], results: ClaimResult[]): Promise<readonly Wanted[]> {
    try {
      return await this.#ask(wanted, results);
    } catch (error) {
      this.#lost.noteClaims(
        error,
        wanted.map(({ lane, request }) => ({ lane: lane.ref, leaseUntil: request.leaseUntil })),
      );
      throw error;
    }
  }

  async #ask(wanted: readonly Wanted[], results: ClaimResult[]): Promise<readonly Wanted[]> {
    const ordered = wanted.some(({ lane }) => lane.ordered);
    const { database } = this.#state;
    const claimable: Wanted[] = [];
    const { rows, freed } = ordered
      ? await database.transaction(async (transaction) => {
          claimable.splice(0, claimable.length, ...(await this.#lock(transaction, wanted)));
          return this.#query(transaction, claimable);
        })
      : await this.#query(database, wanted);
    freed();
    const asked = ordered ? claimable : wanted;
    for (const { place, request } of wanted) results[place] = nothing(request.now + againMs);
    return this.#collect(rows, asked, results);
  }

  /** Only one process at a time claims from an ordered lane; lanes locked by another process are left out. */
  async #lock(transaction: Runner, wanted: readonly Wanted[]): Promise<readonly Wanted[]> {
    const refs = wanted.filter(({ lane }) => lane.ordered).map(({ lane }) => lane.ref);
    const rows = await transaction.rows<[ref: number]>(
      "SELECT ref FROM posthorn.lanes WHERE ref = ANY ($1::int[]) ORDER BY ref FOR UPDATE SKIP LOCKED",
      [numbers(refs)],
    );
    const locked = new Set(rows.map(([ref]) => ref));
    return wanted.filter(({ lane }) => !lane.ordered || locked.has(lane.ref));
  }

  async #query(
    runner: Runner,
    wanted: readonly Wanted[],
  ): Promise<{ readonly rows: readonly ClaimRow[]; readonly freed: () => void }> {
    const refs = wanted.map(({ lane }) => lane.ref);
    const freed = await this.#lost.free(runner, refs, this.#state.processNumber);
    const wantedMost = wanted.reduce((sum, { request }) => sum + request.limit, 0);
    const isSmall = this.#found <= fewFound && wantedMost <= fewWanted;
    const rows = await runner.rows<ClaimRow>(isSmall ? claimSql : claimManySql, [
      numbers(refs),
      booleans(wanted.map(({ lane }) => lane.ordered)),
      numbers(wanted.map(({ request }) => request.limit)),
      numbers(wanted.map(({ request }) => Math.ceil(request.bodyBytesMax))),
      numbers(wanted.map(({ request }) => request.now)),
      numbers(wanted.map(({ request }) => request.leaseUntil)),
      booleans(wanted.map(({ fresh }) => fresh)),
      this.#state.processNumber,
    ]);
    this.#found = rows.length - wanted.length;
    return { rows, freed };
  }

  async #collect(
    rows: readonly ClaimRow[],
    asked: readonly Wanted[],
    results: ClaimResult[],
  ): Promise<readonly Wanted[]> {
    const taken = rows.filter((row) => row[claimColumns.ref] !== null);
    const leases = taken.map(leaseOf);
    try {
      await this.#state.strings.load(
        taken.flatMap((row) => [row[claimColumns.eventType], row[claimColumns.contentType]]),
      );
    } catch (error) {
      // The caller does not receive these leases. If releasing them also fails, the next claim releases them.
      await this.#release(leases).catch(() => undefined);
      throw error;
    }
    await this.#release(leases.filter((_, index) => isOutdated(taken[index])));
    const stale: Wanted[] = [];
    const blocked: Wanted[] = [];
    for (const [at, lanes] of Map.groupBy(rows, (row) => row[claimColumns.place])) {
      const wanted = asked[at - 1];
      const first = lanes.find((row) => row[claimColumns.ref] === null);
      if (wanted === undefined || first === undefined) continue;
      if (first[claimColumns.stale]) stale.push(wanted);
      else results[wanted.place] = this.#result(first, lanes, wanted);
      if ((first[claimColumns.blockedUntil] ?? first[claimColumns.othersLeaseEnd]) !== null)
        blocked.push(wanted);
    }
    await this.#freeForeignLeases(blocked, results);
    return stale;
  }

  /** No other process may hold leases in lanes of our webhooks, so do not wait for such leases to expire. */
  async #freeForeignLeases(blocked: readonly Wanted[], results: ClaimResult[]): Promise<void> {
    const { database, membership, processNumber } = this.#state;
    if (blocked.length === 0 || membership.worker === null) return;
    const refs = blocked.map(({ lane }) => lane.ref);
    const rows = await database.rows<[lane: number]>(freeForeignLeasesSql, [
      numbers(refs),
      membership.worker,
      processNumber,
    ]);
    const freed = new Set(rows.map(([lane]) => lane));
    for (const { place, lane, request } of blocked) {
      const result = results[place];
      if (result !== undefined && freed.has(lane.ref))
        results[place] = { ...result, nextDueAt: request.now + againMs };
    }
  }

  #result(summary: ClaimRow, lanes: readonly ClaimRow[], wanted: Wanted): ClaimResult {
    const { lane, request } = wanted;
    const { strings } = this.#state;
    const deliveries = lanes
      .filter((row) => row[claimColumns.ref] !== null && !isOutdated(row))
      .toSorted(
        (left, right) =>
          left[claimColumns.queuePosition] - right[claimColumns.queuePosition] ||
          (left[claimColumns.ref] ?? 0) - (right[claimColumns.ref] ?? 0),
      )
      .map((row) => toClaimedDelivery(row, claimColumns.id, leaseOf(row), strings));
    if (lane.ordered) return { deliveries, ...orderedRest(summary, request.now) };
    const [high, normal, low] = [
      summary[claimColumns.moreHigh],
      summary[claimColumns.moreNormal],
      summary[claimColumns.moreLow],
    ];
    return {
      deliveries,
      more: { high, normal, low },
      nextDueAt: earlier(summary[claimColumns.later], summary[claimColumns.othersLeaseEnd]),
    };
  }
}

function leaseOf(row: ClaimRow): Lease {
  return {
    ref: row[claimColumns.ref] ?? 0,
    deliveryId: row[claimColumns.id],
    leaseToken: row[claimColumns.leaseToken],
  };
}

/** A lane that is requested twice is claimed twice, sequentially. */
function roundsOf(
  requests: readonly {
    readonly place: number;
    readonly request: ClaimRequest;
    readonly lane: StoredLane | null;
  }[],
): readonly (readonly Wanted[])[] {
  const rounds: Wanted[][] = [];
  const times = new Map<number, number>();
  for (const { place, request, lane } of requests) {
    if (lane === null) continue;
    const round = times.get(lane.ref) ?? 0;
    times.set(lane.ref, round + 1);
    rounds[round] ??= [];
    rounds[round].push({ place, lane, request, fresh: true });
  }
  return rounds;
}

/**
 * Between the snapshot and the lock of this claim, another process sent and rescheduled this delivery. The queue row is
 * current and counts more attempts than the delivery row, which is read from the snapshot.
 */
function isOutdated(row: ClaimRow | undefined): boolean {
  return row !== undefined && row[claimColumns.attempts] !== row[claimColumns.attemptCount];
}

function orderedRest(summary: ClaimRow, now: number): Pick<ClaimResult, "more" | "nextDueAt"> {
  const [, , blockedUntil, headPriority, headDue] = summary;
  const more: Record<Priority, boolean> = { high: false, normal: false, low: false };
  if (headPriority === null) return { more, nextDueAt: blockedUntil };
  more[decode(priorityCodes, headPriority)] = true;
  return { more, nextDueAt: headDue !== null && headDue > now ? headDue : null };
}

function nothing(nextDueAt: number | null): ClaimResult {
  return { deliveries: [], more: { high: false, normal: false, low: false }, nextDueAt };
}

function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
