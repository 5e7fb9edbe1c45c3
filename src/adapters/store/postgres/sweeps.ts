import type { StepResult } from "../../../ports/store/upkeep.ts";
import type { Transaction, Transactor } from "./database.ts";

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
  readonly #database: Transactor;
  readonly #name: string;
  #place: Place = { cursor: null, floor: 0, clean: 0, certain: 0, last: { clean: 0, transaction: never } };

  constructor(database: Transactor, name: string) {
    this.#database = database;
    this.#name = name;
  }

  /** Goes on by one window; `visit` handles rows above a position. `more` is false at the end. */
  async step(visit: (transaction: Transaction, above: number) => Promise<Visit>): Promise<StepResult> {
    const { place, ...result } = await this.#database.transaction(async (transaction) => {
      const before = this.#place.cursor === null ? await this.#begin(transaction) : this.#place;
      const above = before.cursor ?? before.floor;
      const visited = await visit(transaction, above);
      const reached = visited.reached ?? above;
      const cleanHere = visited.firstLeft === null ? reached : visited.firstLeft - 1;
      const clean = above === before.clean ? cleanHere : before.clean;
      const floor = await this.#raiseFloor(transaction, {
        from: before.floor,
        to: Math.min(clean, before.certain),
      });
      const more = visited.full || (visited.seen === windowRows && visited.anyOld);
      const last = more ? before.last : await this.#end(transaction, clean);
      const after = { ...before, cursor: more ? reached : null, floor, clean, last };
      return { changed: visited.changed, more, place: after };
    });
    // Not before it is committed: what was lost with its transaction has to be looked at again.
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

  async #raiseFloor(
    transaction: Transaction,
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<number> {
    if (to <= from) return from;
    await transaction.rows(
      `INSERT INTO posthorn.sweeps AS s VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET floor = greatest(s.floor, excluded.floor)`,
      [this.#name, to],
    );
    return to;
  }
}

/** Where a sweep stands after a step. */
interface Place {
  /** Null between two sweeps. */
  readonly cursor: number | null;
  readonly floor: number;
  /** Up to here this sweep found nothing that needs a second look. */
  readonly clean: number;
  /** Up to here nothing can turn up any more. */
  readonly certain: number;
  /** How far the last sweep found that, and the number of the first transaction that began after it. */
  readonly last: { readonly clean: number; readonly transaction: number };
}

/** No transaction has such a number. */
const never = Number.POSITIVE_INFINITY;
