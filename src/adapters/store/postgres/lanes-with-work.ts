/**
 * Lanes that have a row in `posthorn.queue`, in SQL. All three are written as two looks, at free rows and at leased ones,
 * because a partial index serves only a query that repeats its condition: `queue_free` holds the one kind and `queue_leased`
 * the other, both beginning with the lane. A single look without a condition on the owner would read the whole table.
 */
const kinds = ["owner IS NULL", "owner IS NOT NULL"] as const;

/**
 * Whether a lane has a free row, or a leased one, for which a condition on `q` holds. `lane` is an expression of the query
 * around it.
 *
 * Not EXISTS but the first of an order, which only the index has: where one lane holds most of the queue, EXISTS is planned
 * as a walk through the table that soon finds a row, and reads all of it when there is none.
 */
export const hasFree = (lane: string, condition = "true"): string =>
  `(SELECT true FROM posthorn.queue q WHERE q.lane = ${lane} AND q.owner IS NULL AND ${condition}
      ORDER BY q.rank, q.delivery LIMIT 1) IS NOT NULL`;

export const hasLeased = (lane: string, condition = "true"): string =>
  `(SELECT true FROM posthorn.queue q WHERE q.lane = ${lane} AND q.owner IS NOT NULL AND ${condition}
      ORDER BY q.lease_until LIMIT 1) IS NOT NULL`;

/** Whether anything stands in a lane, free or leased. */
export const hasWork = (lane: string): string => `(${hasFree(lane)} OR ${hasLeased(lane)})`;

/** The first lane above a number in which anything stands: the smaller one of what each index has there. */
const nextLane = (after: string): string =>
  `least(${kinds
    .map(
      (kind) => `(SELECT lane FROM posthorn.queue WHERE ${kind} AND lane > ${after} ORDER BY lane LIMIT 1)`,
    )
    .join(", ")})`;

/**
 * A recursive query `found (lane)`: the lanes above a number in which anything stands, in order, and a null at the end. It
 * seeks from lane to lane instead of reading rows and dropping repetitions, so that a million deliveries in one lane cost as
 * much as one. As PostgreSQL runs a recursion only as far as it is read, a LIMIT on it bounds the seeks.
 */
export const lanesFound = (after: string): string => `found AS (
    SELECT ${nextLane(after)} AS lane UNION ALL SELECT ${nextLane("found.lane")} FROM found WHERE found.lane IS NOT NULL)`;
