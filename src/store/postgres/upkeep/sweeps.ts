import type { StepResult } from "../../../ports/store/upkeep.ts";
import type { Transaction, Transactor } from "../driver/database.ts";

/** The result of one window of a sweep. */
export interface Visit {
  readonly changed: number;
  /** Rows of the window; fewer than requested at the end of the table. */
  readonly seen: number;
  /** The last position that was processed; null in an empty window. */
  readonly reached: number | null;
  /** The first position up to there that a later sweep has to examine again; null when there is none. */
  readonly firstLeft: number | null;
  /** Whether a row of the window is old enough; rows are roughly ordered by time. */
  readonly anyOld: boolean;
  /** The step's limit cut the window short. */
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

/** Positions examined in one step. */
export const windowRows = 2_000;

/**
 * Walks through a table by position, one window per step, until rows are too young, and starts again at the floor. The
 * floor rises over rows that need no second look and is stored in the database, so that a sweep of a long history is
 * short. Two concurrent sweeps are harmless: each row is changed once.
 *
 * Commits do not end in the order of their positions. So the floor rises only as far as the last sweep came, and only
 * once all transactions of that time have ended: no row can appear below it afterwards.
 */
export class Sweep {
  readonly #database: Transactor;
  readonly #name: string;
  #place: Place = { cursor: null, floor: 0, clean: 0, certain: 0, last: { clean: 0, transaction: never } };

  constructor(database: Transactor, name: string) {
    this.#database = database;
    this.#name = name;
  }

  /** Processes one window; `visit` handles rows above a position. `more` is false at the end. */
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
  /** Up to here this sweep found nothing that needs a second look. */
  readonly clean: number;
  /** No row can appear up to here any more. */
  readonly certain: number;
  /** The `clean` position of the last sweep, and the number of the first transaction that began after it. */
  readonly last: { readonly clean: number; readonly transaction: number };
}

/** No transaction has this number. */
const never = Number.POSITIVE_INFINITY;
