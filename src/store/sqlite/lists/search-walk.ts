import { setImmediate } from "node:timers/promises";
import type { DeliverySearch, SearchPage } from "../../../ports/store/search.ts";
import type { Connection, StatementCache } from "../driver/connection.ts";
import type { StoreState } from "../state.ts";
import type { SearchTable } from "./search-filter.ts";
import type { SearchSource } from "./search-sources.ts";

/** How long one turn may block the event loop if no other work is waiting, and if other work is waiting. */
const turnMs = 4;
const turnMsBusy = 1;
/** If waiting for the next turn takes longer than this, the event loop is considered busy. */
const busyMs = 1;

const rowsMin = 32;
const rowsMax = 4096;

/**
 * Controls how many rows one turn of a search examines. The cost of rows depends on the filter and on the cache, so
 * each turn is sized by the duration of the last one. When the event loop is busy, turns are short and deliveries run
 * in between.
 */
export class Pace {
  #rows: number;
  #goalMs = turnMs;

  constructor(rowsFirst: number) {
    this.#rows = rowsFirst;
  }

  /** Runs one turn and measures its duration. */
  run<Result>(turn: (rows: number) => Result): Result {
    const begun = performance.now();
    const result = turn(this.#rows);
    const tookMs = Math.max(performance.now() - begun, 0.05);
    // The size is at most doubled, because one fast turn says little about the next.
    const wanted = Math.min(this.#rows * 2, Math.floor((this.#rows * this.#goalMs) / tookMs));
    this.#rows = Math.min(rowsMax, Math.max(rowsMin, wanted));
    return result;
  }

  /** Lets other work run. */
  async yield(): Promise<void> {
    const left = performance.now();
    await setImmediate();
    this.#goalMs = performance.now() - left > busyMs ? turnMsBusy : turnMs;
  }
}

/** The parameters of a search that a scan needs. */
interface WalkSearch extends Pick<DeliverySearch, "after" | "limit" | "budget"> {
  readonly isNewestFirst: boolean;
  readonly table: SearchTable;
}

const nothing: SearchPage<never> = { rows: [], next: null, searchedTo: null, isCutShort: false };

/** Returns the positions of one page, and the creation time up to which the search got. */
export async function walkPage(
  state: StoreState,
  statements: StatementCache,
  search: WalkSearch,
  source: SearchSource | null,
): Promise<SearchPage<number>> {
  if (source === null) return nothing;
  const begin = search.after?.position ?? startOf(state, search);
  const { rows, next: position, isCutShort } = await walk(state.connection, { ...search, begin }, source);
  if (position === null) return { ...nothing, rows };
  const searchedTo = createdAt(state, statements, search.table, position);
  return { rows, next: { position, dueAt: null }, searchedTo, isCutShort };
}

/** Places of one page: runs turns until the page is full or the budget is used up. */
export async function walk<Place>(
  connection: Connection,
  search: Pick<DeliverySearch, "limit" | "budget"> & { readonly begin: Place },
  source: SearchSource<Place>,
): Promise<Pick<SearchPage<Place, Place>, "rows" | "next" | "isCutShort">> {
  const { limit, budget } = search;
  const pace = new Pace(source.rowsFirst);
  const found: Place[] = [];
  let at = search.begin;
  for (;;) {
    const wanted = limit + 1 - found.length;
    const from = at;
    const stretch = pace.run((rows) => connection.read(() => source.stretch(from, rows, wanted)));
    if (stretch === null) return { rows: found, next: null, isCutShort: false };
    found.push(...stretch.found);
    at = stretch.reached;
    budget.spend(stretch.looked);
    const isFull = found.length > limit;
    if (isFull || budget.isSpent) {
      const rows = found.slice(0, limit);
      return { rows, next: isFull ? (rows.at(-1) ?? at) : at, isCutShort: !isFull };
    }
    await pace.yield();
  }
}

function startOf({ counters }: StoreState, { isNewestFirst, table }: WalkSearch): number {
  if (!isNewestFirst) return 0;
  return (table.name === "events" ? counters.eventLast : counters.deliveryLast) + 1;
}

function createdAt(
  state: StoreState,
  statements: StatementCache,
  table: SearchTable,
  position: number,
): number | null {
  const statement = statements.get(
    `SELECT created_at FROM ${table.name} WHERE seq >= ? ORDER BY seq LIMIT 1`,
  );
  const row = state.connection.read(() => statement.get(position)) as [createdAt: number] | undefined;
  return row?.[0] ?? null;
}
