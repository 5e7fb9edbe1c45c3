import type { SearchPlace } from "../ports/store/search.ts";

/** Where a search goes on. */
export interface SearchedPlace extends SearchPlace {
  /** Rows of the offset that were not met yet. */
  readonly skip: number;
}

export interface SearchPageRequest {
  readonly limit: number;
  /** Rows to pass over behind `after`. */
  readonly offset: number;
  /** `next` of the page before; null begins. */
  readonly after: SearchedPlace | null;
}

/** One page of a search. */
export interface SearchedPage<Row> {
  readonly rows: readonly Row[];
  readonly next: SearchedPlace | null;
  /** Unix milliseconds: nothing made beyond was looked at yet. Null when everything was, or by next attempts. */
  readonly searchedTo: number | null;
  /** False when the budget ended the page before it was full: more may match. */
  readonly isComplete: boolean;
}

/** As one word, for cursors. */
export function placeText({ position, dueAt, skip }: SearchedPlace): string {
  return [position, dueAt ?? "", skip].join(".");
}

/** Null for what is no place. */
export function placeOf(text: string): SearchedPlace | null {
  const [, position = "", dueAt = "", skip = ""] = /^(\d{1,16})\.(-?\d{0,16})\.(\d{1,7})$/.exec(text) ?? [];
  if (position === "") return null;
  return { position: Number(position), dueAt: dueAt === "" ? null : Number(dueAt), skip: Number(skip) };
}
