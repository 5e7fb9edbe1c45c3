import type { StatementSync } from "node:sqlite";
import type {
  ReceivedRequest,
  RecentOutcome,
  RecentQuery,
  RequestPlace,
  RequestSearch,
} from "../../../ports/store/gateway.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import type { RequestLog } from "../../documents/gateway.ts";
import {
  indexedRowsSql,
  type RecentRow,
  requestColumns,
  requestConditions,
  type RequestIndex,
  requestIndex,
  requestPage,
  type RequestRow,
  requestSpan,
  toRecent,
  toRequest,
} from "../../gateway-rows.ts";
import { type Connection, StatementCache } from "../driver/connection.ts";
import { cutAt, type SearchSource, type Stretch } from "../lists/search-sources.ts";
import { walk } from "../lists/search-walk.ts";
import type { GatewayAnswers, GatewayRequestRows, RequestsBySource } from "./gateway-log.ts";

/** Searches the gateway's log in the same way as `DeliverySearches` searches deliveries. */
class RequestSearches {
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

  /** Skips rows that retention has removed since the search. */
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

/** Reads ranges of one index and examines all their rows, so the cost of a range is its number of rows. */
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

/** Whether a search uses the separate table, which lists all rows of a source. */
function isBySource({ rows, owner }: RequestIndex): boolean {
  return rows === null && owner?.column === "source";
}

function tablesOf(index: RequestIndex): string {
  if (isBySource(index)) return "gateway_requests_by_source s CROSS JOIN gateway_requests r ON r.id = s.id";
  return `gateway_requests r INDEXED BY ${nameOf(index)}`;
}

/** Returns the name of the index. The index of all rows is the primary key, which has a name chosen by SQLite. */
function nameOf({ rows, owner }: RequestIndex): string {
  const parts = [rows, owner?.column ?? null].filter((part) => part !== null);
  if (parts.length === 0) return "sqlite_autoindex_gateway_requests_1";
  return ["gateway_requests", ...parts].join("_");
}

const statements = {
  recent: `SELECT ?1, outcome, count(*), max(received_at) FROM
    (SELECT outcome, received_at FROM gateway_requests_by_source s CROSS JOIN gateway_requests r ON r.id = s.id
      WHERE s.source = ?1 ORDER BY s.id DESC LIMIT ?2) GROUP BY outcome`,
  forget: `DELETE FROM gateway_requests WHERE id IN (SELECT id FROM gateway_requests
    WHERE id < ? AND bookmark IS NULL ORDER BY id LIMIT ?) RETURNING source, id`,
} as const;

/** The gateway's log, with its index by source. */
export class SqliteRequestLog implements RequestLog {
  readonly answers: GatewayAnswers;
  readonly #connection: Connection;
  /** Prepared on first use: most deployments have no gateway. */
  readonly #statements: StatementCache;
  readonly #requests: GatewayRequestRows;
  readonly #bySource: RequestsBySource;
  readonly #searches: RequestSearches;

  constructor(
    connection: Connection,
    requests: GatewayRequestRows,
    requestsBySource: RequestsBySource,
    answers: GatewayAnswers,
  ) {
    this.#connection = connection;
    this.#requests = requests;
    this.#bySource = requestsBySource;
    this.#searches = new RequestSearches(connection, requestsBySource);
    this.#statements = new StatementCache(connection);
    this.answers = answers;
  }

  async addRequests(requests: readonly ReceivedRequest[]): Promise<void> {
    this.#connection.write(() => {
      for (const request of requests) this.#requests.add(request);
    });
  }

  searchRequests(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    return this.#searches.page(search);
  }

  async recentOutcomes({ sourceIds, limit }: RecentQuery): Promise<readonly RecentOutcome[]> {
    this.#bySource.fileForSearch();
    const recent = this.#statements.get(statements.recent);
    const rows = this.#connection.read(() => sourceIds.flatMap((id) => recent.all(id, limit)));
    return (rows as unknown as RecentRow[]).map(toRecent);
  }

  async forget(below: string, limit: number): Promise<number> {
    const forget = this.#statements.get(statements.forget);
    return this.#connection.write(() => {
      const forgotten = forget.all(below, limit) as unknown as [string, string][];
      if (forgotten.length === 0) return 0;
      this.#bySource.file();
      for (const [sourceId, id] of forgotten) this.#bySource.forget({ sourceId, id });
      return forgotten.length;
    });
  }
}
