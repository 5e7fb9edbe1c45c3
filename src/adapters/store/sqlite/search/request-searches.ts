import type { StatementSync } from "node:sqlite";
import type { ReceivedRequest, RequestPlace, RequestSearch } from "../../../../ports/store/gateway.ts";
import type { SearchPage } from "../../../../ports/store/search.ts";
import {
  indexedRowsSql,
  requestColumns,
  requestConditions,
  type RequestIndex,
  requestIndex,
  requestPage,
  type RequestRow,
  requestSpan,
  toRequest,
} from "../../gateway-rows.ts";
import type { Connection } from "../connection.ts";
import type { RequestsBySource } from "../gateway-requests-by-source.ts";
import { StatementCache } from "../statement-cache.ts";
import { cutAt, type SearchSource, type Stretch } from "./search-sources.ts";
import { walk } from "./search-walk.ts";

/** Searches the gateway's log like DeliverySearches searches deliveries. */
export class RequestSearches {
  readonly #connection: Connection;
  readonly #statements: StatementCache;
  readonly #bySource: RequestsBySource;

  constructor(connection: Connection, bySource: RequestsBySource) {
    this.#connection = connection;
    this.#bySource = bySource;
    this.#statements = new StatementCache(connection);
  }

  async page(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    const index = requestIndex(search.filter);
    if (isBySource(index)) this.#bySource.fileForSearch();
    const source = new RequestSource(this.#statements, search, index);
    const page = await walk(this.#connection, { ...search, begin: source.begin }, source);
    return requestPage(this.#read(page.rows), page.next, page.isCutShort);
  }

  /** Skips rows that retention removed in between. */
  #read(ids: readonly string[]): readonly ReceivedRequest[] {
    const request = this.#statements.get(
      `SELECT ${requestColumns("NULL")} FROM gateway_requests WHERE id = ?`,
    );
    const rows = this.#connection.read(() =>
      ids.map((id) => request.get(id)).filter((row) => row !== undefined),
    );
    return (rows as unknown as RequestRow[]).map(toRequest);
  }
}

/** Reads stretches of one index and examines all their rows: the cost of a stretch is its number of rows. */
class RequestSource implements SearchSource<string> {
  readonly rowsFirst = 512;
  /** A position before the first row. */
  readonly begin: string;
  readonly #seen: StatementSync;
  readonly #values: readonly (string | number)[];

  constructor(statements: StatementCache, search: RequestSearch, index: RequestIndex) {
    const { above, below } = requestSpan(search);
    const { rows, owner } = index;
    const values: (string | number)[] = [];
    const conditions = requestConditions(search.filter, (value) => {
      values.push(value);
      return "?";
    });
    const of = isBySource(index) ? "s." : "r.";
    const where = [
      ...(rows === null ? [] : [indexedRowsSql[rows]]),
      ...(owner === null ? [] : [`${of}${owner.column} = ?`]),
      `${of}id > ? AND ${of}id < ?`,
    ];
    this.begin = below;
    this.#values = [...values, ...(owner === null ? [] : [owner.id]), above];
    this.#seen = statements.get(
      `SELECT id, ${[...conditions, "true"].join(" AND ")} FROM (
         SELECT r.* FROM ${tablesOf(index)} WHERE ${where.join(" AND ")} ORDER BY ${of}id DESC LIMIT ?)`,
    );
  }

  stretch(from: string, rows: number, limit: number): Stretch<string> | null {
    const seen = this.#seen.all(...this.#values, from, rows) as unknown as SeenRow[];
    const reached = seen.at(-1)?.[0];
    if (reached === undefined) return null;
    const found = seen.filter(([, takes]) => takes === 1).map(([id]) => id);
    return cutAt(found, limit, reached, seen.length);
  }
}

type SeenRow = readonly [id: string, takes: number];

/** A separate table lists all lines of a source. */
function isBySource({ rows, owner }: RequestIndex): boolean {
  return rows === null && owner?.column === "source";
}

function tablesOf(index: RequestIndex): string {
  if (isBySource(index)) return "gateway_requests_by_source s CROSS JOIN gateway_requests r ON r.id = s.id";
  return `gateway_requests r INDEXED BY ${nameOf(index)}`;
}

/** The index of all rows is the primary key, under SQLite's name for it. */
function nameOf({ rows, owner }: RequestIndex): string {
  const parts = [rows, owner?.column ?? null].filter((part) => part !== null);
  if (parts.length === 0) return "sqlite_autoindex_gateway_requests_1";
  return ["gateway_requests", ...parts].join("_");
}
