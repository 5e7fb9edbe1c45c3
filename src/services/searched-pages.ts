import type { Fields } from "../core/fields/field.ts";
import { judgeField } from "../core/fields/judge.ts";
import type { SearchPage, SearchPlace } from "../ports/store/search.ts";
import type { SearchBudget } from "../ports/timing/search-budget.ts";
import type { SearchedPage, SearchPageRequest } from "./searched-place.ts";
import { ProblemList } from "./problem-list.ts";

/** What one page may cost: with the last turn of a search, and on a busy machine, a quarter of a second at most. */
export const searchBounds = { rowsMax: 500_000, durationMsMax: 150 };
/** Rows that are read at once where some of them have to be told apart, or are passed over. */
const rowsAtOnceMax = 250;

/** A search of the store, and how its rows are taken. */
export interface Searching<Row, Place = SearchPlace> {
  readonly budget: SearchBudget;
  readonly read: (part: {
    readonly after: Place | null;
    readonly limit: number;
  }) => Promise<SearchPage<Row, Place>>;
  /** What no store knows; null takes all. */
  readonly takes: ((row: Row) => boolean) | null;
  readonly placeOf: (row: Row) => Place;
  /** Null where rows are not in the order of their creation. */
  readonly createdAtOf: (row: Row) => number | null;
}

/** One page: as many reads as it takes to fill it, within the budget that they share. */
export async function searchedPage<Row, Place = SearchPlace>(
  { limit, offset, after }: SearchPageRequest<Place>,
  searching: Searching<Row, Place>,
): Promise<SearchedPage<Row, Place>> {
  const { budget, takes } = searching;
  const rows: Row[] = [];
  let toSkip = (after?.skip ?? 0) + offset;
  for (let place: Place | null = after; ; ) {
    const wanted = toSkip + limit - rows.length;
    const atOnce = takes === null ? Math.min(wanted, Math.max(limit, rowsAtOnceMax)) : rowsAtOnceMax;
    const found: SearchPage<Row, Place> = await searching.read({ after: place, limit: atOnce });
    for (const row of found.rows) {
      if (takes !== null && !takes(row)) continue;
      if (toSkip > 0) toSkip -= 1;
      else rows.push(row);
      if (rows.length === limit) return fullPage(rows, { found, searching });
    }
    if (found.next === null || found.isCutShort || budget.isSpent) {
      const next = found.next === null ? null : { ...found.next, skip: toSkip };
      const isComplete = found.next === null && !found.isCutShort;
      return { rows, next, searchedTo: found.searchedTo, isComplete };
    }
    place = found.next;
  }
}

/** The next page begins behind the last row; what was read beyond it is read again. */
function fullPage<Row, Place>(
  rows: readonly Row[],
  { found, searching }: { readonly found: SearchPage<Row, Place>; readonly searching: Searching<Row, Place> },
): SearchedPage<Row, Place> {
  const last = rows.at(-1);
  if (last === undefined || (last === found.rows.at(-1) && found.next === null))
    return { rows, next: null, searchedTo: null, isComplete: !found.isCutShort };
  const next = { ...searching.placeOf(last), skip: 0 };
  return { rows, next, searchedTo: searching.createdAtOf(last), isComplete: true };
}

/** Throws InvalidRequestError under the names of the library: the API has judged what it was given. */
export function judgeFilters(fields: Fields, filters: object): void {
  const problems = new ProblemList();
  for (const [name, field] of Object.entries(fields)) {
    const value = (filters as Readonly<Record<string, unknown>>)[name];
    if (value === undefined || value === null) continue;
    for (const problem of judgeField(field, { path: name, value })) problems.add(problem);
  }
  problems.throwIfAny("the listing");
}
