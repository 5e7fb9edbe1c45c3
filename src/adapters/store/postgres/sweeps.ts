import type { StepResult } from "../../../ports/store/upkeep.ts";
import type { Database, Transaction } from "./database.ts";

/** What one window of a sweep held. */
export interface Visit {
  readonly changed: number;
  /** Rows of the window; fewer than asked for at the end of the table. */
  readonly seen: number;
  /** The last position that was dealt with; null in an empty window. */
  readonly reached: number | null;
  /** The first position up to there that a later sweep has to look at again; null when there is none. */
  readonly firstLeft: number | null;
  /** Whether a row of the window is old enough; rows are roughly in the order of time. */
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

/** Positions looked at in one step. */
export const windowRows = 2_000;

/**
 * Upkeep goes through a table in the order of positions, a window per step, until rows are too young, and starts again
 * at the floor. The floor rises over what needs no second look and is kept in the database, so that a sweep of a long
 * history is short. Two processes that sweep at once do no harm: each row is changed once.
 *
 * Commits do not end in the order of their positions. So the floor rises only as far as the last sweep came, and only once
 * everything has ended that was under way then: nothing can turn up below it any more.
 */
export class Sweep {
  readonly #database: Database;
  readonly #name: string;
  /** Null between two sweeps. */
  #cursor: number | null = null;
  #floor = 0;
  /** Up to here this sweep found nothing that needs a second look. */
  #clean = 0;
  /** Up to here nothing can turn up any more. */
  #certain = 0;
  /** How far the last sweep found that, and the number of the first transaction that began after it. */
  #last = { clean: 0, transaction: Number.POSITIVE_INFINITY };

  constructor(database: Database, name: string) {
    this.#database = database;
    this.#name = name;
  }

  /** Goes on by one window; `visit` handles rows above a position. `more` is false at the end. */
  async step(visit: (transaction: Transaction, above: number) => Promise<Visit>): Promise<StepResult> {
    return this.#database.transaction(async (transaction) => {
      const above = this.#cursor ?? (await this.#begin(transaction));
      const result = await visit(transaction, above);
      const reached = result.reached ?? above;
      if (above === this.#clean) this.#clean = result.firstLeft === null ? reached : result.firstLeft - 1;
      await this.#raiseFloor(transaction, Math.min(this.#clean, this.#certain));
      const more = result.full || (result.seen === windowRows && result.anyOld);
      if (!more) await this.#end(transaction);
      this.#cursor = more ? reached : null;
      return { changed: result.changed, more };
    });
  }

  async #begin(transaction: Transaction): Promise<number> {
    const [row] = await transaction.rows<[floor: number, oldestRunning: number]>(
      `SELECT coalesce((SELECT floor FROM posthorn.sweeps WHERE name = $1), 0),
         pg_snapshot_xmin(pg_current_snapshot())::text::bigint`,
      [this.#name],
    );
    const [floor, oldestRunning] = row ?? [0, 0];
    this.#floor = floor;
    this.#clean = floor;
    this.#certain = oldestRunning >= this.#last.transaction ? this.#last.clean : floor;
    return floor;
  }

  async #end(transaction: Transaction): Promise<void> {
    const [row] = await transaction.rows<[next: number]>(
      "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
    );
    this.#last = { clean: this.#clean, transaction: row?.[0] ?? Number.POSITIVE_INFINITY };
  }

  async #raiseFloor(transaction: Transaction, floor: number): Promise<void> {
    if (floor <= this.#floor) return;
    await transaction.rows(
      `INSERT INTO posthorn.sweeps AS s VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET floor = greatest(s.floor, excluded.floor)`,
      [this.#name, floor],
    );
    this.#floor = floor;
  }
}
