import { uuidV7Floor } from "../../domain/uuid.ts";
import { parseLossless } from "../../domain/json/lossless.ts";
import type { Connection, Source } from "../../features/gateway/source.ts";
import type { AuditEntry } from "../../ports/store/audit.ts";
import type {
  AnswerStore,
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
} from "../../ports/store/gateway.ts";
import type { SearchPage } from "../../ports/store/search.ts";
import type { StepResult } from "../../ports/store/upkeep.ts";
import {
  heldOf,
  type HeldRow,
  releasedConnection,
  requestColumns,
  requestDocument,
  type RequestRow,
  settledRequest,
  toHeld,
  toRequest,
} from "../gateway-rows.ts";
import type { Sql } from "./sql.ts";
import { batch, type Call, rowsOf, sql } from "./statement.ts";

type DocumentRow = readonly [document: string];

const sources = sql<DocumentRow>("SELECT document FROM posthorn.gateway_sources ORDER BY id");
const saveSource = sql(
  `INSERT INTO posthorn.gateway_sources (id, document) VALUES ($1, $2)
   ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
);
const deleteSource = sql("DELETE FROM posthorn.gateway_sources WHERE id = $1");
const connections = sql<DocumentRow>("SELECT document FROM posthorn.gateway_connections ORDER BY id");
const saveConnection = sql(
  `INSERT INTO posthorn.gateway_connections (id, source, document) VALUES ($1, $2, $3)
   ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
);
const deleteConnection = sql("DELETE FROM posthorn.gateway_connections WHERE id = $1");
const deleteConnectionsOf = sql("DELETE FROM posthorn.gateway_connections WHERE source = $1");
const lockedConnection = sql<DocumentRow>(
  "SELECT document FROM posthorn.gateway_connections WHERE id = $1 FOR UPDATE",
);
const setConnection = sql("UPDATE posthorn.gateway_connections SET document = $1 WHERE id = $2");

const request = sql<RequestRow>(
  `SELECT ${requestColumns("body")} FROM posthorn.gateway_requests WHERE id = $1`,
);
const updateRequest = sql(
  `UPDATE posthorn.gateway_requests SET status = $1, outcome = $2, cause = $3, document = $4 WHERE id = $5`,
);
const bookmark = sql(
  `UPDATE posthorn.gateway_requests SET bookmark = $1, body = coalesce(body, $2) WHERE id = $3 RETURNING id`,
);
const forgetBodies = sql(
  `UPDATE posthorn.gateway_requests SET body = NULL WHERE id IN (SELECT id FROM posthorn.gateway_requests
     WHERE id < $1 AND bookmark IS NULL AND body IS NOT NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);

const hold = sql(
  `INSERT INTO posthorn.gateway_held (connection, request, event)
   SELECT connection, request, event FROM unnest($1::text[], $2::text[], $3::text[]) AS g (connection, request, event)
   WHERE true ON CONFLICT DO NOTHING`,
);
const endHolds = sql("DELETE FROM posthorn.gateway_held WHERE request = $1");
const held = sql<HeldRow>(
  `SELECT connection, request, event FROM posthorn.gateway_held WHERE connection = $1 AND request > $2
   ORDER BY request LIMIT $3`,
);
const connectionsWithHeld = sql<readonly [id: string]>(
  "SELECT DISTINCT connection FROM posthorn.gateway_held",
);
const heldCounts = sql<readonly [id: string, count: number]>(
  `SELECT asked.id, (SELECT count(*) FROM
     (SELECT 1 FROM posthorn.gateway_held WHERE connection = asked.id LIMIT $1) AS counted)
   FROM unnest($2::text[]) AS asked (id)`,
);
/** Rows are locked in the order of their ids, because another connection may settle the same requests concurrently. */
const lockedRequests = sql<readonly [id: string, document: string]>(
  "SELECT id, document FROM posthorn.gateway_requests WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE",
);
const setRequests = sql(
  `UPDATE posthorn.gateway_requests AS r SET document = g.document
   FROM unnest($1::text[], $2::text[]) AS g (id, document) WHERE r.id = g.id`,
);
const endSettledHolds = sql(
  `DELETE FROM posthorn.gateway_held WHERE (connection, request) IN
     (SELECT connection, request FROM unnest($1::text[], $2::text[]) AS g (connection, request))`,
);

/**
 * The methods that each store implements differently, because they use rows that event commits write, and indexes of
 * the log.
 */
export interface RequestLog
  extends Pick<GatewayStore, "addRequests" | "searchRequests" | "recentOutcomes" | "answers"> {
  /** Deletes requests that have an id below `below` and no bookmark. Returns the number of deleted requests. */
  forget(below: string, limit: number): Promise<number>;
}

/** Returns the calls that hold messages. Messages that are already held are not changed. */
export function holdCalls(messages: readonly HeldMessage[]): readonly Call[] {
  return batch(
    hold,
    messages.map(({ connectionId, requestId, eventId }) => [connectionId, requestId, eventId]),
  );
}

/** Interactive reads use the maintenance pool. */
export class Gateway implements GatewayStore {
  readonly answers: AnswerStore;
  readonly #sql: Sql;
  readonly #maintenance: Sql;
  readonly #log: RequestLog;

  constructor(events: Sql, maintenance: Sql, log: RequestLog) {
    this.#sql = events;
    this.#maintenance = maintenance;
    this.#log = log;
    this.answers = log.answers;
  }

  async sources(): Promise<readonly Source[]> {
    const rows = await this.#sql.read(sources());
    return rows.map(([document]) => parseLossless(document) as Source);
  }

  saveSource(source: Source, audit?: AuditEntry): Promise<void> {
    return this.#sql.write(audit, saveSource(source.id, JSON.stringify(source)));
  }

  deleteSource(id: string, audit?: AuditEntry): Promise<void> {
    return this.#sql.write(audit, deleteConnectionsOf(id), deleteSource(id));
  }

  async connections(): Promise<readonly Connection[]> {
    const rows = await this.#sql.read(connections());
    return rows.map(([document]) => parseLossless(document) as Connection);
  }

  saveConnection(connection: Connection, audit?: AuditEntry): Promise<void> {
    const { id, sourceId } = connection;
    return this.#sql.write(audit, saveConnection(id, sourceId, JSON.stringify(connection)));
  }

  deleteConnection(id: string, audit?: AuditEntry): Promise<void> {
    return this.#sql.write(audit, deleteConnection(id));
  }

  endRelease(id: string, releasingSince: number): Promise<Connection | null> {
    return this.#sql.transaction(function* () {
      const [row] = yield* rowsOf(lockedConnection(id));
      const released = row === undefined ? null : releasedConnection(row[0], releasingSince);
      if (released !== null) yield [setConnection(JSON.stringify(released), id)];
      return released;
    });
  }

  addRequests(requests: readonly ReceivedRequest[]): Promise<void> {
    return this.#log.addRequests(requests);
  }

  async updateRequest(given: ReceivedRequest): Promise<void> {
    const { id, status, outcome, cause } = given;
    const updating = updateRequest(status, outcome, cause, requestDocument(given), id);
    await this.#sql.run([updating, endHolds(id), ...holdCalls(heldOf(given))]);
  }

  async held({ connectionId, after, limit }: HeldQuery): Promise<readonly HeldMessage[]> {
    const rows = await this.#sql.read(held(connectionId, after ?? "", limit));
    return rows.map(toHeld);
  }

  async connectionsWithHeld(): Promise<readonly string[]> {
    const rows = await this.#sql.read(connectionsWithHeld());
    return rows.map(([id]) => id);
  }

  async heldCounts({ connectionIds, countMax }: HeldCountQuery): Promise<ReadonlyMap<string, number>> {
    const ids = connectionIds.map((id) => [id]);
    const [call] = batch(heldCounts, ids, countMax);
    return new Map(call === undefined ? [] : await this.#maintenance.read(call));
  }

  async settleHeld(messages: readonly SettledMessage[]): Promise<void> {
    const requestIds = messages.map(({ requestId }) => requestId);
    const ended = messages.map(({ connectionId, requestId }) => [connectionId, requestId]);
    await this.#sql.transaction(function* () {
      const rows = yield* rowsOf(lockedRequests(requestIds));
      const documents = rows.map(([id, document]) => {
        const own = messages.filter(({ requestId }) => requestId === id);
        return [id, requestDocument(settledRequest(toRequest([document, null, null]), own))];
      });
      yield [...batch(setRequests, documents), ...batch(endSettledHolds, ended)];
    });
  }

  async request(id: string): Promise<ReceivedRequest | null> {
    const [row] = await this.#maintenance.read(request(id));
    return row === undefined ? null : toRequest(row);
  }

  searchRequests(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    return this.#log.searchRequests(search);
  }

  recentOutcomes(query: RecentQuery): Promise<readonly RecentOutcome[]> {
    return this.#log.recentOutcomes(query);
  }

  async bookmark({ id, name, body }: RequestMark, audit?: AuditEntry): Promise<boolean> {
    const marked = await this.#sql.change(audit, bookmark(name, body, id));
    return marked.length > 0;
  }

  async forgetRequests({ before, bodiesBefore, limit }: RequestStep): Promise<StepResult> {
    const removed = await this.#log.forget(uuidV7Floor(before), limit);
    const [emptied = []] = await this.#maintenance.run([forgetBodies(uuidV7Floor(bodiesBefore), limit)]);
    return { changed: removed + emptied.length, more: removed >= limit || emptied.length >= limit };
  }
}
