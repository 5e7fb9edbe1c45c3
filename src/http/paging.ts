import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { PosthornError } from "../domain/errors.ts";
import {
  idWords,
  type PlaceWords,
  placeWords,
  type SearchedPage,
  type SearchPageRequest,
} from "../features/searched-pages.ts";
import type { Page, PageRequest } from "../ports/store.ts";
import type { SearchPlace } from "../ports/store/search.ts";
import { defaultOf } from "../resources/field.ts";
import { pageLimitField } from "../resources/names.ts";
import { formatInstantOrNull } from "./mapping.ts";

/**
 * Cursors are opaque. The position inside is encrypted, because it counts rows of all tenants. It is authenticated
 * together with the parameters of the listing, so that a cursor continues only its own listing.
 */

interface CursorCodec {
  encode(listing: Listing, position: CursorPosition): string;
  /** Throws `invalid_cursor`. */
  decode(listing: Listing, cursor: string): CursorPosition;
}

/** The parameters to which a cursor is bound. */
export interface Listing {
  /** Null for an administrator. */
  readonly tenantId: string | null;
  readonly route: string;
  readonly filters: Readonly<Record<string, unknown>>;
}

/** A position in the store, or the last id of the previous page. */
type CursorPosition = number | string;

const nonceBytes = 12;
const tagBytes = 16;
const cursorLengthMax = 512;

export function createCursorCodec(key: Uint8Array): CursorCodec {
  if (key.length < 32) throw new RangeError("the cursor key has fewer than 32 bytes");
  const encryptionKey = createHmac("sha256", key).update("posthorn cursor encryption").digest();
  const nonceKey = createHmac("sha256", key).update("posthorn cursor nonce").digest();

  return {
    encode: (listing, position) => {
      const context = contextOf(listing);
      const plain = JSON.stringify(position);
      // The nonce is derived from the whole input: equal inputs give the same cursor, and different inputs give
      // different nonces.
      const nonce = createHmac("sha256", nonceKey).update(context).update("\0").update(plain).digest();
      const cipher = createCipheriv("aes-256-gcm", encryptionKey, nonce.subarray(0, nonceBytes));
      cipher.setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([nonce.subarray(0, nonceBytes), sealed, cipher.getAuthTag()]).toString(
        "base64url",
      );
    },
    decode: (listing, cursor) => {
      const position = open(cursor, contextOf(listing), encryptionKey);
      if (position === null) {
        throw new PosthornError(
          "invalid_cursor",
          "The cursor was not issued for this listing. Start again without a cursor.",
          { fields: [{ field: "cursor", message: "was not issued for this listing" }] },
        );
      }
      return position;
    },
  };
}

function contextOf(listing: Listing): string {
  const filters = Object.entries(listing.filters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([listing.tenantId, listing.route, filters]);
}

function open(cursor: string, context: string, encryptionKey: Uint8Array): CursorPosition | null {
  if (cursor.length > cursorLengthMax || !/^[\w-]+$/.test(cursor)) return null;
  const bytes = Buffer.from(cursor, "base64url");
  // The last character may carry unused bits; accept only the canonical spelling.
  if (bytes.length <= nonceBytes + tagBytes || bytes.toString("base64url") !== cursor) return null;
  const decipher = createDecipheriv("aes-256-gcm", encryptionKey, bytes.subarray(0, nonceBytes));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const plain =
      decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8");
    return JSON.parse(plain) as CursorPosition;
  } catch {
    return null;
  }
}

// `limit`, `cursor` and `offset` of every listing, and the shape of the response.

export const pageLimitDefault = defaultOf(pageLimitField);

export interface PageQuery {
  readonly limit?: number;
  readonly cursor?: string;
  readonly offset?: number;
}

interface ListJson<Json = unknown> {
  readonly data: readonly Json[];
  readonly next_cursor: string | null;
}

interface SearchJson extends ListJson {
  readonly searched_to: string | null;
  readonly complete: boolean;
}

/** Used for searches, whose pages may be incomplete. */
interface SearchPager<Place> {
  searchRequest(query: PageQuery, listing: Listing): SearchPageRequest<Place>;
  searchAnswer<Row>(
    page: SearchedPage<Row, Place>,
    listing: Listing,
    toJson: (row: Row) => unknown,
  ): SearchJson;
}

export interface Pager extends SearchPager<SearchPlace> {
  /** Used for listings of the store, which are ordered by a numeric position. */
  request(query: PageQuery, listing: Listing): PageRequest;
  answer<Row>(page: Page<Row>, listing: Listing, toJson: (row: Row) => unknown): ListJson;
  /** Used for searches ordered by id. */
  readonly byId: SearchPager<{ readonly id: string }>;
  /** Used for listings that continue after an id. */
  after(query: PageQuery, listing: Listing): string | null;
  cursorAfter(id: string | null, listing: Listing): string | null;
  /** Used for small listings that the services return as a whole. */
  slice<Row, Json>(rows: readonly Row[], more: SliceOptions<Row, Json>): ListJson<Json>;
}

interface SliceOptions<Row, Json> {
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
