import type { SearchPlace } from "../ports/store/search.ts";

/** Where a search goes on. */
export type SearchedPlace<Place = SearchPlace> = Place & {
  /** Rows of the offset that were not met yet. */
  readonly skip: number;
};

export interface SearchPageRequest<Place = SearchPlace> {
  readonly limit: number;
  /** Rows to pass over behind `after`. */
  readonly offset: number;
  /** `next` of the page before; null begins. */
  readonly after: SearchedPlace<Place> | null;
}

/** One page of a search. */
export interface SearchedPage<Row, Place = SearchPlace> {
  readonly rows: readonly Row[];
  readonly next: SearchedPlace<Place> | null;
  /** Unix milliseconds: nothing made beyond was looked at yet. Null when everything was, or by next attempts. */
  readonly searchedTo: number | null;
  /** False when the budget ended the page before it was full: more may match. */
  readonly isComplete: boolean;
}

/** Places as one word each, for cursors. */
export interface PlaceWords<Place> {
  readonly wordOf: (place: SearchedPlace<Place>) => string;
  /** Null for what is no place. */
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

/** Of rows that are in the order of their ids. */
export const idWords: PlaceWords<{ readonly id: string }> = {
  wordOf: ({ id, skip }) => `${id}.${skip}`,
  placeOf: (word) => {
    const [, id = "", skip = ""] = /^([0-9a-f-]{36})\.(\d{1,7})$/.exec(word) ?? [];
    return id === "" ? null : { id, skip: Number(skip) };
  },
};
