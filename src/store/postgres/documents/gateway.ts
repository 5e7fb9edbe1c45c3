import type {
  ReceivedRequest,
  RecentOutcome,
  RecentQuery,
  RequestPlace,
  RequestSearch,
} from "../../../ports/store/gateway.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import { storable } from "../../column-values.ts";
import type { RequestLog } from "../../documents/gateway.ts";
import {
  indexedRowsSql,
  type RecentRow,
  requestColumns,
  requestConditions,
  requestIndex,
  requestPage,
  type RequestRow,
  requestSpan,
  toRecent,
  toRequest,
} from "../../gateway-rows.ts";
import { plainWords } from "../driver/columns.ts";
import type { Database } from "../driver/database.ts";
import {
  Parameters,
  searchBounds,
  type SeenWindow,
  type WalkedWindow,
  walkWindows,
} from "../lists/search-walk.ts";
import { GatewayAnswers, writeRequests } from "./gateway-log.ts";

type PlacedRow = readonly [id: string, ...RequestRow];

const rowsFirst = 500;

/** Searches the gateway's log like DeliverySearches searches deliveries, over the maintenance pool. */
class RequestSearches {
  readonly #maintenance: Database;

  constructor(maintenance: Database) {
    this.#maintenance = maintenance;
  }

  async page(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    const page = await walkWindows<PlacedRow, string>(
      {
        ...search,
        span: requestSpan(search),
        isOldestFirst: false,
        rowsFirst: Math.max(rowsFirst, search.limit + 1),
      },
      (window) => this.#window(search, window),
    );
    const rows = page.rows.map(([, ...row]) => toRequest(row));
    return requestPage(rows, page.next, page.isCutShort);
  }

  /** Examines all rows in a window of one index, and reads the matching ones. */
  async #window(
    { filter }: RequestSearch,
    window: WalkedWindow<string>,
  ): Promise<SeenWindow<PlacedRow, string>> {
    const parameters = new Parameters();
    const add = (value: string | number): string =>
      parameters.add(typeof value === "string" ? storable(value) : value);
    const { rows: only, owner } = requestIndex(filter);
    const [above, below] = [`${add(window.span.above)}::text`, `${add(window.span.below)}::text`];
    const where: string[] = only === null ? [] : [indexedRowsSql[only]];
    if (owner === null) where.push(`id > ${above} AND id < ${below}`);
    else {
      // As for deliveries, only one index has this order.
      const [place, is] = [`(${owner.column}, id)`, `${add(owner.id)}::text`];
      where.push(`${place} > (${is}, ${above}) AND ${place} < (${is}, ${below})`);
    }
    const order = owner === null ? "id DESC" : `${owner.column} DESC, id DESC`;
    const conditions = ["true", ...requestConditions(filter, add)].join(" AND ");
    const rows = await this.#maintenance.rows<
      readonly [looked: number, reached: string | null, ...PlacedRow]
    >(
      `WITH seen AS MATERIALIZED (
         SELECT id, tenant, source, status, outcome, cause, received_at, bookmark FROM posthorn.gateway_requests
         WHERE ${where.join(" AND ")} ORDER BY ${order} LIMIT ${add(window.rows)}),
       found AS MATERIALIZED (
         SELECT id FROM seen WHERE ${conditions} ORDER BY id DESC LIMIT ${add(window.wanted)})
       SELECT (SELECT count(*) FROM seen), (SELECT min(id) FROM seen), f.*
       FROM (SELECT) AS one LEFT JOIN (
         SELECT r.id, ${requestColumns("NULL::bytea")}
         FROM found JOIN posthorn.gateway_requests r ON r.id = found.id) f ON true
       ORDER BY f.id DESC`,
      parameters.values,
      searchBounds,
    );
    const [looked = 0, reached = null] = rows[0] ?? [];
    const matches = rows
      .map(([, , ...row]): PlacedRow => row)
      .filter(([id]) => (id as string | null) !== null);
    return { looked, reached, matches };
  }
}

const recentSql = `SELECT asked.id, outcome, count(*)::int, max(received_at)
  FROM unnest($1::text[]) AS asked(id) CROSS JOIN LATERAL (SELECT outcome, received_at FROM posthorn.gateway_requests
    WHERE source = asked.id ORDER BY gateway_requests.id DESC LIMIT $2) AS newest
  GROUP BY asked.id, outcome`;

/** The gateway's log. Reads for people use the maintenance pool. */
export class PostgresRequestLog implements RequestLog {
  readonly answers: GatewayAnswers;
  readonly #database: Database;
  readonly #maintenance: Database;
  readonly #searches: RequestSearches;

  constructor(database: Database, maintenance: Database) {
    this.#database = database;
    this.#maintenance = maintenance;
    this.#searches = new RequestSearches(maintenance);
    this.answers = new GatewayAnswers(database, maintenance);
  }

  async addRequests(requests: readonly ReceivedRequest[]): Promise<void> {
    await this.#database.transaction((transaction) =>
      writeRequests(transaction, { requests, replaces: false }),
    );
  }

  searchRequests(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    return this.#searches.page(search);
  }

  async recentOutcomes({ sourceIds, limit }: RecentQuery): Promise<readonly RecentOutcome[]> {
    return (await this.#maintenance.rows<RecentRow>(recentSql, [plainWords(sourceIds), limit])).map(toRecent);
  }

  async forget(below: string, limit: number): Promise<number> {
    const removed = await this.#maintenance.rows(
      `DELETE FROM posthorn.gateway_requests WHERE id IN (SELECT id FROM posthorn.gateway_requests
       WHERE id < $1 AND bookmark IS NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [below, limit],
    );
    return removed.length;
  }
}
