/** `limit`, `cursor` and `offset` of every listing, and the shape of the response. */
import { idWords, type PlaceWords, placeWords } from "../services/searched-place.ts";
import type { SearchedPage, SearchPageRequest } from "../services/searched-place.ts";
import type { SearchPlace } from "../ports/store/search.ts";
import type { Page, PageRequest } from "../ports/store.ts";
import { formatInstantOrNull } from "./mapping/instant.ts";
import type { CursorCodec, Listing } from "./cursors.ts";
import { PosthornError } from "../core/errors.ts";
import { defaultOf } from "../core/fields/field.ts";
import { pageLimitField } from "../core/fields/page.ts";

export const pageLimitDefault = defaultOf(pageLimitField);
export const pageOffsetMax = 100_000;

export interface PageQuery {
  readonly limit?: number;
  readonly cursor?: string;
  readonly offset?: number;
}

export interface ListJson<Json = unknown> {
  readonly data: readonly Json[];
  readonly next_cursor: string | null;
}

export interface SearchJson extends ListJson {
  readonly searched_to: string | null;
  readonly complete: boolean;
}

/** For searches, whose pages may be incomplete. */
export interface SearchPager<Place> {
  searchRequest(query: PageQuery, listing: Listing): SearchPageRequest<Place>;
  searchAnswer<Row>(
    page: SearchedPage<Row, Place>,
    listing: Listing,
    toJson: (row: Row) => unknown,
  ): SearchJson;
}

export interface Pager extends SearchPager<SearchPlace> {
  /** For listings of the store, which are ordered by a numeric position. */
  request(query: PageQuery, listing: Listing): PageRequest;
  answer<Row>(page: Page<Row>, listing: Listing, toJson: (row: Row) => unknown): ListJson;
  /** For searches ordered by id. */
  readonly byId: SearchPager<{ readonly id: string }>;
  /** For listings that continue after an id. */
  after(query: PageQuery, listing: Listing): string | null;
  cursorAfter(id: string | null, listing: Listing): string | null;
  /** For small listings that the services return as a whole. */
  slice<Row, Json>(rows: readonly Row[], more: SliceOptions<Row, Json>): ListJson<Json>;
}

export interface SliceOptions<Row, Json> {
  readonly query: PageQuery;
  readonly listing: Listing;
  readonly idOf: (row: Row) => string;
  readonly toJson: (row: Row) => Json;
}

function searchPager<Place>(cursors: CursorCodec, words: PlaceWords<Place>): SearchPager<Place> {
  return {
    searchRequest: (query, listing) => ({
      limit: query.limit ?? pageLimitDefault,
      offset: query.offset ?? 0,
      after: query.cursor === undefined ? null : words.placeOf(String(cursors.decode(listing, query.cursor))),
    }),
    searchAnswer: ({ rows, next, searchedTo, isComplete }, listing, toJson) => ({
      data: rows.map(toJson),
      next_cursor: next === null ? null : cursors.encode(listing, words.wordOf(next)),
      searched_to: formatInstantOrNull(searchedTo),
      complete: isComplete,
    }),
  };
}

export function createPager(cursors: CursorCodec): Pager {
  const after = (query: PageQuery, listing: Listing): string | null => {
    if (query.cursor === undefined) return null;
    return String(cursors.decode(listing, query.cursor));
  };
  const cursorAfter = (id: string | null, listing: Listing): string | null =>
    id === null ? null : cursors.encode(listing, id);

  return {
    request: (query, listing) => ({
      limit: query.limit ?? pageLimitDefault,
      offset: query.offset ?? 0,
      before: query.cursor === undefined ? null : Number(cursors.decode(listing, query.cursor)),
    }),
    answer: (page, listing, toJson) => ({
      data: page.rows.map(toJson),
      next_cursor: page.next === null ? null : cursors.encode(listing, page.next),
    }),
    ...searchPager(cursors, placeWords),
    byId: searchPager(cursors, idWords),
    after,
    cursorAfter,
    slice: (rows, { query, listing, idOf, toJson }) => {
      const last = after(query, listing);
      const found = last === null ? -1 : rows.findIndex((row) => idOf(row) === last);
      if (last !== null && found < 0) {
        throw new PosthornError(
          "invalid_cursor",
          "The position of the cursor was deleted. Start again without a cursor.",
        );
      }
      const start = found + 1 + (query.offset ?? 0);
      const end = start + (query.limit ?? pageLimitDefault);
      const page = rows.slice(start, end);
      const lastRow = page.at(-1);
      const next = end < rows.length && lastRow !== undefined ? idOf(lastRow) : null;
      return { data: page.map(toJson), next_cursor: cursorAfter(next, listing) };
    },
  };
}
