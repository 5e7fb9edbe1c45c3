import type { StatementSync } from "node:sqlite";
import { uuidV7Floor } from "../../../domain/uuid.ts";
import type { Source, Connection as SourceConnection } from "../../../features/gateway/source.ts";
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
import { type DocumentRow, toDocument } from "../../document-rows.ts";
import {
  indexedRowsSql,
  type RecentRow,
  releasedConnection,
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
import type { AuditRows } from "./audit.ts";
import type { GatewayAnswers, GatewayRequestRows, RequestsBySource } from "./gateway-log.ts";

/** Searches the gateway's log like DeliverySearches searches deliveries. */
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

const statements = {
  sources: "SELECT document FROM gateway_sources ORDER BY id",
  saveSource: "INSERT OR REPLACE INTO gateway_sources VALUES (?, ?)",
  deleteSource: "DELETE FROM gateway_sources WHERE id = ?",
  connections: "SELECT document FROM gateway_connections ORDER BY id",
  connection: "SELECT document FROM gateway_connections WHERE id = ?",
  saveConnection: "INSERT OR REPLACE INTO gateway_connections VALUES (?, ?, ?)",
  deleteConnection: "DELETE FROM gateway_connections WHERE id = ?",
  deleteConnectionsOf: "DELETE FROM gateway_connections WHERE source = ?",
  request: `SELECT ${requestColumns("body")} FROM gateway_requests WHERE id = ?`,
  recent: `SELECT ?1, outcome, count(*), max(received_at) FROM
    (SELECT outcome, received_at FROM gateway_requests_by_source s CROSS JOIN gateway_requests r ON r.id = s.id
      WHERE s.source = ?1 ORDER BY s.id DESC LIMIT ?2) GROUP BY outcome`,
  bookmark: "UPDATE gateway_requests SET bookmark = ?, body = coalesce(body, ?) WHERE id = ?",
  forget: `DELETE FROM gateway_requests WHERE id IN (SELECT id FROM gateway_requests
    WHERE id < ? AND bookmark IS NULL ORDER BY id LIMIT ?) RETURNING source, id`,
  forgetBodies: `UPDATE gateway_requests SET body = NULL WHERE id IN (SELECT id FROM gateway_requests
    INDEXED BY gateway_requests_body WHERE body IS NOT NULL AND bookmark IS NULL AND id < ? ORDER BY id LIMIT ?)`,
} as const;

export class SqliteGateway implements GatewayStore {
  readonly #connection: Connection;
  readonly #audit: AuditRows;
  /** Prepared on first use: most deployments have no gateway. */
  readonly #statements: StatementCache;
  readonly #requests: GatewayRequestRows;
  readonly #bySource: RequestsBySource;
  readonly #searches: RequestSearches;
  readonly answers: GatewayAnswers;

  constructor(
    connection: Connection,
    audit: AuditRows,
    requests: GatewayRequestRows,
    requestsBySource: RequestsBySource,
    answers: GatewayAnswers,
  ) {
    this.#connection = connection;
    this.#audit = audit;
    this.#requests = requests;
    this.#bySource = requestsBySource;
    this.#searches = new RequestSearches(connection, requestsBySource);
    this.#statements = new StatementCache(connection);
    this.answers = answers;
  }

  async sources(): Promise<readonly Source[]> {
    return this.#documents<Source>("sources");
  }

  async saveSource(source: Source, audit?: AuditEntry): Promise<void> {
    this.#connection.write(() => {
      this.#sql("saveSource").run(source.id, JSON.stringify(source));
      this.#audit.write(audit);
    });
  }

  async deleteSource(id: string, audit?: AuditEntry): Promise<void> {
    this.#connection.write(() => {
      this.#sql("deleteConnectionsOf").run(id);
      this.#sql("deleteSource").run(id);
      this.#audit.write(audit);
    });
  }

  async connections(): Promise<readonly SourceConnection[]> {
    return this.#documents<SourceConnection>("connections");
  }

  async saveConnection(connection: SourceConnection, audit?: AuditEntry): Promise<void> {
    this.#connection.write(() => {
      this.#sql("saveConnection").run(connection.id, connection.sourceId, JSON.stringify(connection));
      this.#audit.write(audit);
    });
  }

  async deleteConnection(id: string, audit?: AuditEntry): Promise<void> {
    this.#connection.write(() => {
      this.#sql("deleteConnection").run(id);
      this.#audit.write(audit);
    });
  }

  async endRelease(id: string, releasingSince: number): Promise<SourceConnection | null> {
    return this.#connection.write(() => {
      const row = this.#sql("connection").get(id) as unknown as [string] | undefined;
      const released = row === undefined ? null : releasedConnection(row[0], releasingSince);
      if (released !== null) this.#sql("saveConnection").run(id, released.sourceId, JSON.stringify(released));
      return released;
    });
  }

  async addRequests(requests: readonly ReceivedRequest[]): Promise<void> {
    this.#connection.write(() => {
      for (const request of requests) this.#requests.add(request);
    });
  }

  async updateRequest(request: ReceivedRequest): Promise<void> {
    this.#connection.write(() => this.#requests.update(request));
  }

  async held(query: HeldQuery): Promise<readonly HeldMessage[]> {
    return this.#connection.read(() => this.#requests.held(query));
  }

  async connectionsWithHeld(): Promise<readonly string[]> {
    return this.#connection.read(() => this.#requests.connectionsWithHeld());
  }

  async heldCounts(query: HeldCountQuery): Promise<ReadonlyMap<string, number>> {
    return this.#connection.read(() => this.#requests.heldCounts(query));
  }

  async settleHeld(messages: readonly SettledMessage[]): Promise<void> {
    this.#connection.write(() => this.#requests.settle(messages));
  }

  async request(id: string): Promise<ReceivedRequest | null> {
    const row = this.#connection.read(() => this.#sql("request").get(id));
    return row === undefined ? null : toRequest(row as unknown as RequestRow);
  }

  searchRequests(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    return this.#searches.page(search);
  }

  async recentOutcomes({ sourceIds, limit }: RecentQuery): Promise<readonly RecentOutcome[]> {
    this.#bySource.fileForSearch();
    const rows = this.#connection.read(() => sourceIds.flatMap((id) => this.#sql("recent").all(id, limit)));
    return (rows as unknown as RecentRow[]).map(toRecent);
  }

  async bookmark({ id, name, body }: RequestMark, audit?: AuditEntry): Promise<boolean> {
    return this.#connection.write(() => {
      const { changes } = this.#sql("bookmark").run(name, body, id);
      if (Number(changes) > 0) this.#audit.write(audit);
      return Number(changes) > 0;
    });
  }

  async forgetRequests({ before, bodiesBefore, limit }: RequestStep): Promise<StepResult> {
    return this.#connection.write(() => {
      const removed = this.#forget(uuidV7Floor(before), limit);
      const emptied = Number(this.#sql("forgetBodies").run(uuidV7Floor(bodiesBefore), limit).changes);
      return { changed: removed + emptied, more: removed >= limit || emptied >= limit };
    });
  }

  #forget(below: string, limit: number): number {
    const forgotten = this.#sql("forget").all(below, limit) as unknown as [string, string][];
    if (forgotten.length === 0) return 0;
    this.#bySource.file();
    for (const [sourceId, id] of forgotten) this.#bySource.forget({ sourceId, id });
    return forgotten.length;
  }

  #documents<Document>(name: "sources" | "connections"): readonly Document[] {
    const rows = this.#connection.read(() => this.#sql(name).all());
    return (rows as unknown as DocumentRow[]).map(toDocument<Document>);
  }

  #sql(name: keyof typeof statements): StatementSync {
    return this.#statements.get(statements[name]);
  }
}
