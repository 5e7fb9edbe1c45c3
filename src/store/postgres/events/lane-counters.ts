import { numbers } from "../driver/sql.ts";

/** Kinds below this value are waiting deliveries, by priority code. */
export const deadLetterKind = 3;

/** Shards let most concurrent commits update different rows. */
const shards = 16;

/**
 * Adds `rows`, a query of (kind, tenant, value), to the counters. Rows are locked in a fixed order, so that two commits
 * in one shard wait for each other instead of deadlocking. For the same reason, a commit that adds twice uses higher
 * shards the second time: it adds when it writes deliveries (`beginning`) and when it ends some.
 */
export function addToCounters(rows: string, part: "beginning" | "ending" = "ending"): string {
  const first = part === "beginning" ? 0 : shards;
  return `INSERT INTO posthorn.counters AS c (shard, kind, tenant, value)
    SELECT ${first} + pg_backend_pid() % ${shards}, kind, tenant, sum(value) FROM (${rows}) AS delta (kind, tenant, value)
    GROUP BY kind, tenant HAVING sum(value) <> 0 ORDER BY kind, tenant
    ON CONFLICT (shard, kind, tenant) DO UPDATE SET value = c.value + excluded.value`;
}

/** The changes of the counters by one transaction. */
export class Deltas {
  readonly #waiting: [number, number, number] = [0, 0, 0];
  readonly #deadLetters = new Map<number, number>();

  addWaiting(priority: number, change: 1 | -1): void {
    this.#waiting[priority as 0 | 1 | 2] += change;
  }

  addDeadLetter(tenant: number, change: 1 | -1): void {
    this.#deadLetters.set(tenant, (this.#deadLetters.get(tenant) ?? 0) + change);
  }

  /** Three columns: kind, tenant, value. */
  columns(): readonly [kinds: string, tenants: string, values: string] {
    const waiting = this.#waiting.map((value, kind) => [kind, 0, value] as const);
    const dead = [...this.#deadLetters].map(([tenant, value]) => [deadLetterKind, tenant, value] as const);
    const rows = [...waiting, ...dead].filter(([, , value]) => value !== 0);
    return [
      numbers(rows.map(([kind]) => kind)),
      numbers(rows.map(([, tenant]) => tenant)),
      numbers(rows.map(([, , value]) => value)),
    ];
  }
}

// SQL for lanes that have a row in `posthorn.queue`. The queries look up unleased and leased rows separately, because a
// partial index serves only a query that repeats its condition: `queue_free` covers the unleased rows and
// `queue_leased` the leased ones, and both start with the lane. A single lookup without a condition on the owner would
// scan the whole table.

const kinds = ["owner IS NULL", "owner IS NOT NULL"] as const;

/**
 * Whether a lane has an unleased row, or a leased one, that satisfies a condition on `q`. `lane` is an expression of the
 * surrounding query.
 *
 * It selects the first row in an order that only the index has, instead of using EXISTS. If one lane holds most of the
 * queue, the planner chooses a sequential scan for EXISTS, expecting to find a row soon. If there is none, that scan reads
 * the whole table.
 */
export const hasFree = (lane: string, condition = "true"): string =>
  `(SELECT true FROM posthorn.queue q WHERE q.lane = ${lane} AND q.owner IS NULL AND ${condition}
      ORDER BY q.queue_position, q.delivery LIMIT 1) IS NOT NULL`;

export const hasLeased = (lane: string, condition = "true"): string =>
  `(SELECT true FROM posthorn.queue q WHERE q.lane = ${lane} AND q.owner IS NOT NULL AND ${condition}
      ORDER BY q.lease_until LIMIT 1) IS NOT NULL`;

export const hasWork = (lane: string): string => `(${hasFree(lane)} OR ${hasLeased(lane)})`;

/** The first lane with rows above a number: the smaller of the results of both indexes. */
const nextLane = (after: string): string =>
  `least(${kinds
    .map(
      (kind) => `(SELECT lane FROM posthorn.queue WHERE ${kind} AND lane > ${after} ORDER BY lane LIMIT 1)`,
    )
    .join(", ")})`;

/**
 * A recursive query `found (lane)`: the lanes with rows above a number, in order, and a null at the end. It seeks from
 * lane to lane instead of reading all rows and dropping duplicates, so a million deliveries in one lane cost as much as
 * one. PostgreSQL evaluates a recursion only as far as its rows are read, so a LIMIT bounds the seeks.
 */
export const lanesFound = (after: string): string => `found AS (
    SELECT ${nextLane(after)} AS lane UNION ALL SELECT ${nextLane("found.lane")} FROM found WHERE found.lane IS NOT NULL)`;
