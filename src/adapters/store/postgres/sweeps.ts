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
 */
export class Sweep {
  readonly #database: Database;
  readonly #name: string;
  /** Null between two sweeps. */
  #cursor: number | null = null;
  #floor = 0;

  constructor(database: Database, name: string) {
    this.#database = database;
    this.#name = name;
  }

  /** Goes on by one window; `visit` handles rows above a position. `more` is false at the end. */
  async step(visit: (transaction: Transaction, above: number) => Promise<Visit>): Promise<StepResult> {
    return this.#database.transaction(async (transaction) => {
      const above = this.#cursor ?? (await this.#readFloor(transaction));
      const result = await visit(transaction, above);
      const reached = result.reached ?? above;
      if (above === this.#floor && reached > above) {
        await this.#raiseFloor(transaction, result.firstLeft === null ? reached : result.firstLeft - 1);
      }
      const more = result.full || (result.seen === windowRows && result.anyOld);
      this.#cursor = more ? reached : null;
      return { changed: result.changed, more };
    });
  }

  async #readFloor(transaction: Transaction): Promise<number> {
    const [row] = await transaction.rows<[floor: number]>(
      "SELECT floor FROM posthorn.sweeps WHERE name = $1",
      [this.#name],
    );
    this.#floor = row?.[0] ?? 0;
    return this.#floor;
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
