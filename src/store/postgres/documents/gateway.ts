import { uuidV7Floor } from "../../../domain/uuid.ts";
import type { Connection, Source } from "../../../features/gateway/source.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import type {
  GatewayStore,
  HeldCountQuery,
  HeldMessage,
  HeldQuery,
  ReceivedRequest,
  RecentOutcome,
  RecentQuery,
  RequestMark,
  RequestPlace,
  RequestSearch,
  RequestStep,
  SettledMessage,
} from "../../../ports/store/gateway.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { storable } from "../../column-values.ts";
import { type DocumentRow, toDocument } from "../../document-rows.ts";
import {
  heldOf,
  type HeldRow,
  indexedRowsSql,
  type RecentRow,
  releasedConnection,
  requestColumns,
  requestConditions,
  requestDocument,
  requestIndex,
  requestPage,
  type RequestRow,
  requestSpan,
  settledRequest,
  toHeld,
  toRecent,
  toRequest,
} from "../../gateway-rows.ts";
import { plainWords, texts } from "../driver/columns.ts";
import type { Database } from "../driver/database.ts";
import {
  Parameters,
  searchBounds,
  type SeenWindow,
  type WalkedWindow,
  walkWindows,
} from "../lists/search-walk.ts";
import { writeAudit, writeAudited } from "./audit.ts";
import { GatewayAnswers, writeRequests } from "./gateway-log.ts";

type PlacedRow = readonly [id: string, ...RequestRow];

const rowsFirst = 500;

/** Searches the gateway's log like DeliverySearches searches deliveries, over the maintenance pool. */
class RequestSearches {
  readonly #aside: Database;

  constructor(aside: Database) {
    this.#aside = aside;
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
    const rows = await this.#aside.rows<readonly [looked: number, reached: string | null, ...PlacedRow]>(
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

/** Reads for people use the maintenance pool. */
export class PostgresGateway implements GatewayStore {
  readonly #database: Database;
  readonly #aside: Database;
  readonly #searches: RequestSearches;
  readonly answers: GatewayAnswers;

  constructor(database: Database, aside: Database) {
    this.#database = database;
    this.#aside = aside;
    this.#searches = new RequestSearches(aside);
    this.answers = new GatewayAnswers(database, aside);
  }

  sources(): Promise<readonly Source[]> {
    return this.#documents("SELECT document FROM posthorn.gateway_sources ORDER BY id");
  }

  async saveSource(source: Source, audit?: AuditEntry): Promise<void> {
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.gateway_sources VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
      values: [source.id, storable(JSON.stringify(source))],
    });
  }

  async deleteSource(id: string, audit?: AuditEntry): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await transaction.rows("DELETE FROM posthorn.gateway_connections WHERE source = $1", [id]);
      await transaction.rows("DELETE FROM posthorn.gateway_sources WHERE id = $1", [id]);
      await writeAudit(transaction, audit);
    });
  }

  connections(): Promise<readonly Connection[]> {
    return this.#documents("SELECT document FROM posthorn.gateway_connections ORDER BY id");
  }

  async saveConnection(connection: Connection, audit?: AuditEntry): Promise<void> {
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.gateway_connections VALUES ($1, $2, $3)
        ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
      values: [connection.id, connection.sourceId, storable(JSON.stringify(connection))],
    });
  }

  async deleteConnection(id: string, audit?: AuditEntry): Promise<void> {
    const sql = "DELETE FROM posthorn.gateway_connections WHERE id = $1";
    await writeAudited(this.#database, audit, { sql, values: [id] });
  }

  async endRelease(id: string, releasingSince: number): Promise<Connection | null> {
    return this.#database.transaction(async (transaction) => {
      const [row] = await transaction.rows<[document: string]>(
        "SELECT document FROM posthorn.gateway_connections WHERE id = $1 FOR UPDATE",
        [id],
      );
      const released = row === undefined ? null : releasedConnection(row[0], releasingSince);
      if (released === null) return null;
      await transaction.rows("UPDATE posthorn.gateway_connections SET document = $1 WHERE id = $2", [
        storable(JSON.stringify(released)),
        id,
      ]);
      return released;
    });
  }

  async addRequests(requests: readonly ReceivedRequest[]): Promise<void> {
    await this.#database.transaction((transaction) =>
      writeRequests(transaction, { requests, replaces: false }),
    );
  }

  async updateRequest(request: ReceivedRequest): Promise<void> {
    const { id, status, outcome, cause } = request;
    await this.#database.transaction(async (transaction) => {
      await transaction.rows(
        "UPDATE posthorn.gateway_requests SET status = $1, outcome = $2, cause = $3, document = $4 WHERE id = $5",
        [status, outcome, cause, storable(requestDocument(request)), id],
      );
      await transaction.rows("DELETE FROM posthorn.gateway_held WHERE request = $1", [id]);
      for (const { connectionId, eventId } of heldOf(request))
        await transaction.rows("INSERT INTO posthorn.gateway_held VALUES ($1, $2, $3)", [
          connectionId,
          id,
          eventId,
        ]);
    });
  }

  async held({ connectionId, after, limit }: HeldQuery): Promise<readonly HeldMessage[]> {
    const rows = await this.#database.rows<HeldRow>(
      `SELECT connection, request, event FROM posthorn.gateway_held WHERE connection = $1 AND request > $2
       ORDER BY request LIMIT $3`,
      [connectionId, after ?? "", limit],
    );
    return rows.map(toHeld);
  }

  async connectionsWithHeld(): Promise<readonly string[]> {
    const rows = await this.#database.rows<[string]>("SELECT DISTINCT connection FROM posthorn.gateway_held");
    return rows.map(([id]) => id);
  }

  async heldCounts({ connectionIds, countMax }: HeldCountQuery): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#aside.rows<[id: string, count: number | bigint]>(
      `SELECT asked.id, (SELECT count(*) FROM
         (SELECT FROM posthorn.gateway_held WHERE connection = asked.id LIMIT $2) AS counted)
       FROM unnest($1::text[]) AS asked (id)`,
      [texts(connectionIds), countMax],
    );
    return new Map(rows.map(([id, count]) => [id, Number(count)]));
  }

  async settleHeld(messages: readonly SettledMessage[]): Promise<void> {
    const connectionIds = texts(messages.map(({ connectionId }) => connectionId));
    const requestIds = texts(messages.map(({ requestId }) => requestId));
    await this.#database.transaction(async (transaction) => {
      // Locked in the order of ids, because another connection may settle the same requests at the same time.
      const rows = await transaction.rows<[id: string, document: string]>(
        `SELECT id, document FROM posthorn.gateway_requests WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
        [requestIds],
      );
      const documents = rows.map(([id, document]) => {
        const own = messages.filter(({ requestId }) => requestId === id);
        return storable(requestDocument(settledRequest(toRequest([document, null, null]), own)));
      });
      await transaction.rows(
        `UPDATE posthorn.gateway_requests r SET document = given.document
         FROM unnest($1::text[], $2::text[]) AS given (id, document) WHERE r.id = given.id`,
        [texts(rows.map(([id]) => id)), texts(documents)],
      );
      await transaction.rows(
        `DELETE FROM posthorn.gateway_held h USING unnest($1::text[], $2::text[]) AS given (connection, request)
         WHERE h.connection = given.connection AND h.request = given.request`,
        [connectionIds, requestIds],
      );
    });
  }

  async request(id: string): Promise<ReceivedRequest | null> {
    const sql = `SELECT ${requestColumns("body")} FROM posthorn.gateway_requests WHERE id = $1`;
    const [row] = await this.#aside.rows<RequestRow>(sql, [id]);
    return row === undefined ? null : toRequest(row);
  }

  searchRequests(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    return this.#searches.page(search);
  }

  async recentOutcomes({ sourceIds, limit }: RecentQuery): Promise<readonly RecentOutcome[]> {
    return (await this.#aside.rows<RecentRow>(recentSql, [plainWords(sourceIds), limit])).map(toRecent);
  }

  async bookmark({ id, name, body }: RequestMark, audit?: AuditEntry): Promise<boolean> {
    const rows = await writeAudited(this.#database, audit, {
      sql: "UPDATE posthorn.gateway_requests SET bookmark = $1, body = coalesce(body, $3) WHERE id = $2 RETURNING id",
      values: [name === null ? null : storable(name), id, body === null ? null : Buffer.from(body)],
    });
    return rows.length > 0;
  }

  async forgetRequests({ before, bodiesBefore, limit }: RequestStep): Promise<StepResult> {
    const removed = await this.#aside.rows(
      `DELETE FROM posthorn.gateway_requests WHERE id IN (SELECT id FROM posthorn.gateway_requests
       WHERE id < $1 AND bookmark IS NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [uuidV7Floor(before), limit],
    );
    const emptied = await this.#aside.rows(
      `UPDATE posthorn.gateway_requests SET body = NULL WHERE id IN (SELECT id FROM posthorn.gateway_requests
       WHERE id < $1 AND bookmark IS NULL AND body IS NOT NULL ORDER BY id LIMIT $2
       FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [uuidV7Floor(bodiesBefore), limit],
    );
    const more = removed.length >= limit || emptied.length >= limit;
    return { changed: removed.length + emptied.length, more };
  }

  async #documents<Document>(sql: string): Promise<readonly Document[]> {
    return (await this.#database.rows<DocumentRow>(sql, [])).map(toDocument<Document>);
  }
}
