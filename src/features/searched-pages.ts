import type { SearchBudget } from "../ports/clock.ts";
import type { SearchPage, SearchPlace } from "../ports/store/search.ts";
import { type Fields, judgeField } from "../resources/field.ts";
import { ProblemList } from "./input.ts";

/** The position at which a search continues. */
export type SearchedPlace<Place = SearchPlace> = Place & {
  /** Number of rows of the offset that must still be skipped. */
  readonly skip: number;
};

export interface SearchPageRequest<Place = SearchPlace> {
  readonly limit: number;
  /** Number of rows to skip after `after`. */
  readonly offset: number;
  /** `next` of the previous page; null for the first page. */
  readonly after: SearchedPlace<Place> | null;
}

/** One page of a search. */
export interface SearchedPage<Row, Place = SearchPlace> {
  readonly rows: readonly Row[];
  readonly next: SearchedPlace<Place> | null;
  /**
   * Unix milliseconds: only items created at or after this time have been searched. Null if all items have been
   * searched, or if the rows are sorted by next attempt.
   */
  readonly searchedTo: number | null;
  /** False if the budget ran out before the page was full, so that more rows may match. */
  readonly isComplete: boolean;
}

/** Encodes positions as single words, for cursors. */
export interface PlaceWords<Place> {
  readonly wordOf: (place: SearchedPlace<Place>) => string;
  /** Null for an invalid word. */
  readonly placeOf: (word: string) => SearchedPlace<Place> | null;
}

export const placeWords: PlaceWords<SearchPlace> = {
  wordOf: ({ position, dueAt, skip }) => [position, dueAt ?? "", skip].join("."),
  placeOf: (word) => {
    const [, position = "", dueAt = "", skip = ""] = /^(\d{1,16})\.(-?\d{0,16})\.(\d{1,7})$/.exec(word) ?? [];
    if (position === "") return null;
    return { position: Number(position), dueAt: dueAt === "" ? null : Number(dueAt), skip: Number(skip) };
  },
};

/** For positions in rows sorted by id. */
export const idWords: PlaceWords<{ readonly id: string }> = {
  wordOf: ({ id, skip }) => `${id}.${skip}`,
  placeOf: (word) => {
    const [, id = "", skip = ""] = /^([0-9a-f-]{36})\.(\d{1,7})$/.exec(word) ?? [];
    return id === "" ? null : { id, skip: Number(skip) };
  },
};

/** Budget of one page: at most 250 ms including the last read, on a busy machine. */
export const searchBounds = { rowsMax: 500_000, durationMsMax: 150 };
/** Maximum rows per read if some of them are filtered or skipped afterwards. */
const rowsAtOnceMax = 250;

/** A search of the store with a filter on its rows. */
interface Searching<Row, Place = SearchPlace> {
  readonly budget: SearchBudget;
  readonly read: (part: {
    readonly after: Place | null;
    readonly limit: number;
  }) => Promise<SearchPage<Row, Place>>;
  /** A filter that the store cannot evaluate; null accepts all rows. */
  readonly takes: ((row: Row) => boolean) | null;
  readonly placeOf: (row: Row) => Place;
  /** Null if rows are not sorted by creation time. */
  readonly createdAtOf: (row: Row) => number | null;
}

/** One page: reads until it is full or the shared budget is used up. */
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
      if (rows.length === limit) return fullPage(rows, found, searching);
    }
    if (found.next === null || found.isCutShort || budget.isSpent) {
      const next = found.next === null ? null : { ...found.next, skip: toSkip };
      const isComplete = found.next === null && !found.isCutShort;
      return { rows, next, searchedTo: found.searchedTo, isComplete };
    }
    place = found.next;
  }
}

/** The next page starts after the last row of this page. Later rows that were already read are read again. */
function fullPage<Row, Place>(
  rows: readonly Row[],
  found: SearchPage<Row, Place>,
  searching: Searching<Row, Place>,
): SearchedPage<Row, Place> {
  const last = rows.at(-1);
  if (last === undefined || (last === found.rows.at(-1) && found.next === null))
    return { rows, next: null, searchedTo: null, isComplete: !found.isCutShort };
  const next = { ...searching.placeOf(last), skip: 0 };
  return { rows, next, searchedTo: searching.createdAtOf(last), isComplete: true };
}

/** Throws InvalidRequestError with the field names of the library. The API validates its requests before this call. */
export function judgeFilters(fields: Fields, filters: object): void {
  const problems = new ProblemList();
  for (const [name, field] of Object.entries(fields)) {
    const value = (filters as Readonly<Record<string, unknown>>)[name];
    if (value === undefined || value === null) continue;
    for (const problem of judgeField(field, name, value)) problems.add(problem);
  }
  problems.throwIfAny("the listing");
}
