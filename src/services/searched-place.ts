import type { SearchPlace } from "../ports/store/search.ts";

/** The position at which a search continues. */
export type SearchedPlace<Place = SearchPlace> = Place & {
  /** Rows of the offset that are still to be skipped. */
  readonly skip: number;
};

export interface SearchPageRequest<Place = SearchPlace> {
  readonly limit: number;
  /** Rows to skip after `after`. */
  readonly offset: number;
  /** `next` of the previous page; null for the first. */
  readonly after: SearchedPlace<Place> | null;
}

/** One page of a search. */
export interface SearchedPage<Row, Place = SearchPlace> {
  readonly rows: readonly Row[];
  readonly next: SearchedPlace<Place> | null;
  /**
   * Unix milliseconds: only items created up to this time have been searched. Null if all have been, or when sorted by
   * next attempt.
   */
  readonly searchedTo: number | null;
  /** False if the budget ended the page before it was full: more may match. */
  readonly isComplete: boolean;
}

/** Positions as single words, for cursors. */
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

/** For rows sorted by id. */
export const idWords: PlaceWords<{ readonly id: string }> = {
  wordOf: ({ id, skip }) => `${id}.${skip}`,
  placeOf: (word) => {
    const [, id = "", skip = ""] = /^([0-9a-f-]{36})\.(\d{1,7})$/.exec(word) ?? [];
    return id === "" ? null : { id, skip: Number(skip) };
  },
};
