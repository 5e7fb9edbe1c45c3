import type { HistoryStep, StepResult } from "../../../ports/store/upkeep.ts";
import { waitingMax } from "../../column-values.ts";
import type { Transaction, Transactor } from "../driver/database.ts";
import { addToCounters, deadLetterKind } from "../events/lane-counters.ts";
import type { StoreState } from "../state.ts";
import type { Partitions } from "./partitions.ts";

/** Number of positions examined in one step. */
export const windowRows = 2_000;

export interface RetentionStep {
  readonly createdBefore: number;
  readonly limit: number;
}

/**
 * One window of a table. `seen` has `seq`, `created_at`, `is_due` and `is_left` (a later sweep checks the row again);
 * `work` contains the statements that end in `done`. Parameters: 1 created before, 2 above, 3 limit.
 */
function windowSql(seen: string, work: string): string {
  return `WITH seen AS MATERIALIZED (${seen}),
  due AS MATERIALIZED (SELECT * FROM seen WHERE is_due ORDER BY seq LIMIT $3),
  ${work},
  reached AS (SELECT CASE WHEN (SELECT count(*) FROM due) = $3 THEN (SELECT max(seq) FROM due)
    ELSE (SELECT max(seq) FROM seen) END AS seq)
  SELECT (SELECT count(*) FROM done), count(*), (SELECT seq FROM reached),
    min(seq) FILTER (WHERE is_left AND seq <= (SELECT seq FROM reached) AND seq NOT IN (SELECT seq FROM done)),
    coalesce(bool_or(created_at < $1), false), (SELECT count(*) FROM due) = $3
  FROM seen`;
}

const payloadsSql = windowSql(
  `SELECT e.seq, e.created_at, e.has_body AS is_left, e.has_body AND e.created_at < $1
     AND NOT EXISTS (SELECT FROM posthorn.fan_out_parts p WHERE p.event = e.seq) AND NOT EXISTS (
     SELECT FROM posthorn.deliveries d JOIN posthorn.queue q ON q.delivery = d.seq WHERE d.event = e.seq) AS is_due
   FROM (SELECT seq, created_at, body IS NOT NULL AS has_body FROM posthorn.events WHERE seq > $2
     ORDER BY seq LIMIT ${windowRows}) AS e`,
  "done AS (UPDATE posthorn.events e SET body = NULL FROM due WHERE e.seq = due.seq RETURNING e.seq)",
);

const deliveriesSql = windowSql(
  `SELECT d.seq, d.created_at, true AS is_left, d.state > ${waitingMax} AND d.created_at < $1 AS is_due
   FROM (SELECT seq, created_at, state FROM posthorn.deliveries WHERE seq > $2
     ORDER BY seq LIMIT ${windowRows}) AS d`,
  `done AS (DELETE FROM posthorn.deliveries d USING due WHERE d.seq = due.seq AND d.state > ${waitingMax}
     RETURNING d.seq),
   undead AS (DELETE FROM posthorn.dead_letters l USING done WHERE l.delivery = done.seq RETURNING l.tenant),
   counted AS (${addToCounters(`SELECT ${deadLetterKind}, tenant, -1 FROM undead`)})`,
);

/**
 * An event that got another delivery after it was examined has a different count, and is kept. Its deduplication key is
 * deleted with it ($4 is now), unless the key already refers to another event.
 */
const eventsSql = windowSql(
  `SELECT e.seq, e.created_at, e.requeue_count, true AS is_left, e.created_at < $1
     AND NOT EXISTS (SELECT FROM posthorn.deliveries d WHERE d.event = e.seq)
     AND NOT EXISTS (SELECT FROM posthorn.fan_out_parts p WHERE p.event = e.seq)
     AND NOT (e.idempotency_key IS NOT NULL AND EXISTS (SELECT FROM posthorn.dedup_keys k
       WHERE k.tenant = e.tenant AND k.key = e.idempotency_key AND k.event = e.id AND k.expires_at > $4)) AS is_due
   FROM (SELECT seq, id, tenant, created_at, requeue_count, idempotency_key FROM posthorn.events WHERE seq > $2
     ORDER BY seq LIMIT ${windowRows}) AS e`,
  `done AS (DELETE FROM posthorn.events e USING due WHERE e.seq = due.seq AND e.requeue_count = due.requeue_count
     RETURNING e.seq, e.id, e.tenant, e.idempotency_key),
   unkeyed AS (DELETE FROM posthorn.dedup_keys k USING done
     WHERE k.tenant = done.tenant AND k.key = done.idempotency_key AND k.event = done.id)`,
);

const expiredKeysSql = [
  `DELETE FROM posthorn.idempotency WHERE (scope, key) IN
     (SELECT scope, key FROM posthorn.idempotency WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
     AND expires_at <= $1 RETURNING 1`,
  `DELETE FROM posthorn.api_keys WHERE id IN
     (SELECT id FROM posthorn.api_keys WHERE expires_at <= $1 LIMIT $2) AND expires_at <= $1 RETURNING 1`,
];

/** Deletes data that is older than the retention period set by the operator. */
export class Retention {
  readonly #state: StoreState;
  readonly #partitions: Partitions;
  readonly #payloads: Sweep;
  readonly #deliveries: Sweep;
  readonly #events: Sweep;
  /** History is deleted in two sweeps, one after the other, because an event outlives its deliveries. */
  #historyPhase: "deliveries" | "events" = "deliveries";

  constructor(state: StoreState, partitions: Partitions) {
    this.#state = state;
    this.#partitions = partitions;
    this.#payloads = new Sweep(state.maintenance, "payloads");
    this.#deliveries = new Sweep(state.maintenance, "history_deliveries");
    this.#events = new Sweep(state.maintenance, "history_events");
  }

  async forgetPayloads(step: RetentionStep): Promise<StepResult> {
    return this.#sweep(this.#payloads, payloadsSql, step);
  }

  async forgetHistory(step: HistoryStep): Promise<StepResult> {
    if (this.#historyPhase === "deliveries") {
      const result = await this.#sweep(this.#deliveries, deliveriesSql, step);
      if (!result.more) this.#historyPhase = "events";
      return { changed: result.changed, more: true };
    }
    const result = await this.#sweep(this.#events, eventsSql, step, [step.now]);
    if (!result.more) {
      this.#historyPhase = "deliveries";
      await this.#partitions.dropBefore(step);
    }
    return result;
  }

  /** The oldest rows have the lowest numbers, so they are examined first. */
  async forgetAudit(createdBefore: number, limit: number): Promise<StepResult> {
    const rows = await this.#state.maintenance.rows(
      `DELETE FROM posthorn.audit_log WHERE seq IN (SELECT seq FROM posthorn.audit_log ORDER BY seq LIMIT $1)
       AND at < $2 RETURNING 1`,
      [limit, createdBefore],
    );
    return { changed: rows.length, more: rows.length === limit };
  }

  async forgetKeys(now: number, limit: number): Promise<StepResult> {
    let changed = 0;
    let more = false;
    for (const sql of expiredKeysSql) {
      const rows = await this.#state.maintenance.rows(sql, [now, limit]);
      changed += rows.length;
      more ||= rows.length === limit;
    }
    return { changed, more };
  }

  async #sweep(
    sweep: Sweep,
    sql: string,
    step: RetentionStep,
    more: readonly number[] = [],
  ): Promise<StepResult> {
    return sweep.step(async (transaction, above) => {
      const [row] = await transaction.rows<VisitRow>(sql, [step.createdBefore, above, step.limit, ...more]);
      return toVisit(row ?? [0, 0, null, null, false, false]);
    });
  }
}

/** The result of one window of a sweep. */
export interface Visit {
  readonly changed: number;
  /** Number of rows in the window; fewer than requested at the end of the table. */
  readonly seen: number;
  /** The last position that was processed; null if the window is empty. */
  readonly reached: number | null;
  /** The first position up to `reached` that a later sweep has to examine again; null if there is none. */
  readonly firstLeft: number | null;
  /** Whether any row of the window is old enough; rows are roughly ordered by time. */
  readonly anyOld: boolean;
  /** Whether the window ended early because the step reached its limit. */
  readonly full: boolean;
}

export type VisitRow = [
  changed: number,
  seen: number,
  reached: number | null,
  firstLeft: number | null,
  anyOld: boolean,
  full: boolean,
];

export function toVisit([changed, seen, reached, firstLeft, anyOld, full]: VisitRow): Visit {
  return { changed, seen, reached, firstLeft, anyOld, full };
}

/**
 * Scans a table by position, one window per step, until rows are too young, and starts again at the floor. The floor rises
 * over rows that need not be examined again and is stored in the database, so that a sweep of a long history is short.
 * Two concurrent sweeps are harmless, because each row is changed only once.
 *
 * Commits do not end in the order of their positions. So the floor rises only as far as the last sweep got, and only once
 * all transactions of that time have ended: after that, no row can appear below it.
 */
export class Sweep {
  readonly #database: Transactor;
  readonly #name: string;
  #place: Place = { cursor: null, floor: 0, clean: 0, certain: 0, last: { clean: 0, transaction: never } };

  constructor(database: Transactor, name: string) {
    this.#database = database;
    this.#name = name;
  }

  /** Processes one window; `visit` handles rows above a position. `more` is false at the end of the sweep. */
  async step(visit: (transaction: Transaction, above: number) => Promise<Visit>): Promise<StepResult> {
    const { place, ...result } = await this.#database.transaction(async (transaction) => {
      const before = this.#place.cursor === null ? await this.#begin(transaction) : this.#place;
      const above = before.cursor ?? before.floor;
      const visited = await visit(transaction, above);
      const reached = visited.reached ?? above;
      const cleanHere = visited.firstLeft === null ? reached : visited.firstLeft - 1;
      const clean = above === before.clean ? cleanHere : before.clean;
      const floor = await this.#raiseFloor(transaction, before.floor, Math.min(clean, before.certain));
      const more = visited.full || (visited.seen === windowRows && visited.anyOld);
      const last = more ? before.last : await this.#end(transaction, clean);
      const after = { ...before, cursor: more ? reached : null, floor, clean, last };
      return { changed: visited.changed, more, place: after };
    });
    // Only after the commit: rows of a lost transaction have to be examined again.
    this.#place = place;
    return result;
  }

  async #begin(transaction: Transaction): Promise<Place> {
    const [row] = await transaction.rows<[floor: number, oldestRunning: number]>(
      `SELECT coalesce((SELECT floor FROM posthorn.sweeps WHERE name = $1), 0),
         pg_snapshot_xmin(pg_current_snapshot())::text::bigint`,
      [this.#name],
    );
    const [floor, oldestRunning] = row ?? [0, 0];
    const { last } = this.#place;
    const certain = oldestRunning >= last.transaction ? last.clean : floor;
    return { cursor: null, floor, clean: floor, certain, last };
  }

  async #end(transaction: Transaction, clean: number): Promise<Place["last"]> {
    const [row] = await transaction.rows<[next: number]>(
      "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
    );
    return { clean, transaction: row?.[0] ?? never };
  }

  async #raiseFloor(transaction: Transaction, from: number, to: number): Promise<number> {
    if (to <= from) return from;
    await transaction.rows(
      `INSERT INTO posthorn.sweeps AS s VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET floor = greatest(s.floor, excluded.floor)`,
      [this.#name, to],
    );
    return to;
  }
}

/** The state of a sweep after a step. */
interface Place {
  /** Null between two sweeps. */
  readonly cursor: number | null;
  readonly floor: number;
  /** Up to this position, the current sweep found no row that must be examined again. */
  readonly clean: number;
  /** Up to this position, no new row can appear. */
  readonly certain: number;
  /** The `clean` position of the last sweep, and the number of the first transaction that began after it. */
  readonly last: { readonly clean: number; readonly transaction: number };
}

/** Greater than every transaction number. */
const never = Number.POSITIVE_INFINITY;
