import type { StatementSync } from "node:sqlite";
import { StoreUnavailableError } from "../../../ports/store.ts";
import type {
  AnswerClaim,
  AnswerCompletion,
  AnswerOutcome,
  AnswerStore,
  ReceivedRequest,
} from "../../../ports/store/gateway.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { holdCalls } from "../../documents/gateway.ts";
import { answerOutcome, type AnswerRow, heldOf, requestDocument } from "../../gateway-rows.ts";
import { type Connection, StatementCache } from "../driver/connection.ts";
import type { SqliteSql } from "../driver/sql.ts";

interface PendingWrite {
  /** Runs within the transaction. */
  readonly run: () => void;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Groups small writes that callers await individually: all writes in one turn of the event loop share a transaction and
 * its flush.
 */
class GroupedWrites {
  readonly #connection: Connection;
  #waiting: PendingWrite[] = [];

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Resolves after the commit. `work` throws only for reasons that concern the store, which affect the whole group. */
  run<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: Result;
      if (this.#waiting.length === 0) setImmediate(() => this.#write());
      this.#waiting.push({
        run: () => (result = work()),
        done: () => resolve(result),
        failed: reject,
      });
    });
  }

  #write(): void {
    const group = this.#waiting;
    this.#waiting = [];
    try {
      this.#connection.write(() => {
        for (const { run } of group) run();
      });
    } catch (error) {
      for (const { failed } of group) failed(error);
      return;
    }
    for (const { done } of group) done();
  }
}

const statements = {
  find: `SELECT fingerprint, expires_at, document FROM gateway_answers
    WHERE key = ? AND expires_at > ? AND document IS NOT NULL`,
  keep: "INSERT OR REPLACE INTO gateway_answers VALUES (?, ?, NULL, ?, ?)",
  purge: `DELETE FROM gateway_answers WHERE key IN
    (SELECT key FROM gateway_answers WHERE expires_at <= ? LIMIT ?)`,
} as const;

/**
 * Answers are stored in rows, claims only in memory. No other process uses the file, so claims end with the process. A
 * forwarded message costs one write, for its answer.
 */
export class GatewayAnswers implements AnswerStore {
  readonly #connection: Connection;
  readonly #statements: StatementCache;
  readonly #grouped: GroupedWrites;
  readonly #claims = new Map<string, AnswerClaim>();
  /** Keys whose responses are written in the current transaction. */
  readonly #keeping = new Set<string>();

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#statements = new StatementCache(connection);
    this.#grouped = new GroupedWrites(connection);
    connection.join({
      afterCommit: () => {
        for (const key of this.#keeping) this.#claims.delete(key);
        this.#keeping.clear();
      },
      afterRollback: () => this.#keeping.clear(),
    });
  }

  async claim(claim: AnswerClaim): Promise<AnswerOutcome> {
    const { key, fingerprint, now } = claim;
    const held = this.#claims.get(key);
    if (held !== undefined && held.expiresAt > now)
      return answerOutcome([held.fingerprint, held.expiresAt, null], fingerprint);
    const row = this.#connection.readOne(() => this.#sql("find").get(key, now));
    if (row !== undefined) return answerOutcome(row as unknown as AnswerRow, fingerprint);
    // A message whose answer could not be written must not be forwarded.
    this.#connection.checkWritable();
    this.#claims.set(key, claim);
    return { kind: "claimed" };
  }

  finish(completion: AnswerCompletion): Promise<boolean> {
    return this.#grouped.run(() => this.keep(completion));
  }

  /** Only inside a write. Returns false if another call has taken the key. */
  keep({ key, token, fingerprint, expiresAt, result }: AnswerCompletion): boolean {
    if (this.#claims.get(key)?.token !== token || this.#keeping.has(key)) return false;
    this.#sql("keep").run(key, fingerprint, expiresAt, result);
    this.#keeping.add(key);
    return true;
  }

  async release(key: string, token: string): Promise<void> {
    if (this.#claims.get(key)?.token === token) this.#claims.delete(key);
  }

  async purge(now: number, limit: number): Promise<StepResult> {
    const ended = [...this.#claims.values()].filter(({ expiresAt }) => expiresAt <= now);
    for (const { key } of ended) this.#claims.delete(key);
    const removed = Number(this.#connection.write(() => this.#sql("purge").run(now, limit)).changes);
    return { changed: ended.length + removed, more: removed >= limit };
  }

  #sql(name: keyof typeof statements): StatementSync {
    return this.#statements.get(statements[name]);
  }
}

const bySourceStatements = {
  note: "INSERT INTO gateway_requests_unfiled VALUES (?, ?)",
  waits: "SELECT 1 FROM gateway_requests_unfiled LIMIT 1",
  file: `INSERT OR IGNORE INTO gateway_requests_by_source
    SELECT source, id FROM gateway_requests_unfiled ORDER BY source, id`,
  emptied: "DELETE FROM gateway_requests_unfiled",
  forget: "DELETE FROM gateway_requests_by_source WHERE source = ? AND id = ?",
} as const;

/** Adding this many rows to the index takes a few milliseconds, and writes several rows of a source per page. */
const unfiledMax = 1_024;

/**
 * The index of the gateway's log by source. Adding each row to it separately would write one index page per row.
 * Therefore, rows wait in a queue until there are many, or until a search.
 */
export class RequestsBySource {
  readonly #connection: Connection;
  readonly #statements: StatementCache;
  /**
   * Number of rows since this process last added rows to the index; rows left by an earlier process are added with
   * them.
   */
  #noted = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#statements = new StatementCache(connection);
  }

  /** Only inside a write. */
  note({ sourceId, id }: Pick<ReceivedRequest, "sourceId" | "id">): void {
    this.#sql("note").run(sourceId, id);
    this.#noted += 1;
    if (this.#noted >= unfiledMax) this.file();
  }

  /** Only inside a write. */
  file(): void {
    this.#noted = 0;
    this.#sql("file").run();
    this.#sql("emptied").run();
  }

  /** Only inside a write, after `file`. */
  forget({ sourceId, id }: Pick<ReceivedRequest, "sourceId" | "id">): void {
    this.#sql("forget").run(sourceId, id);
  }

  /**
   * Called before a search by source. If the store is not writable, searches find only the rows that are already in the
   * index.
   */
  fileForSearch(): void {
    if (this.#connection.readOne(() => this.#sql("waits").get()) === undefined) return;
    try {
      this.#connection.write(() => this.file());
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  #sql(name: keyof typeof bySourceStatements): StatementSync {
    return this.#statements.get(bySourceStatements[name]);
  }
}

const requestStatements = {
  add: "INSERT OR IGNORE INTO gateway_requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  put: `INSERT INTO gateway_requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
    status = excluded.status, outcome = excluded.outcome, cause = excluded.cause, document = excluded.document`,
} as const;

/** Writes rows of the gateway's log and of held messages. Only inside a write. */
export class GatewayRequestRows {
  readonly #sql: SqliteSql;
  readonly #statements: StatementCache;
  readonly #bySource: RequestsBySource;

  constructor(connection: Connection, sql: SqliteSql, bySource: RequestsBySource) {
    this.#sql = sql;
    this.#bySource = bySource;
    this.#statements = new StatementCache(connection);
  }

  /** Keeps an existing row. */
  add(request: ReceivedRequest): void {
    this.#write("add", request);
  }

  /** Writes the row together with the event that was created from the request. */
  put(request: ReceivedRequest): void {
    this.#write("put", request);
  }

  #write(name: keyof typeof requestStatements, request: ReceivedRequest): void {
    const { id, tenantId, sourceId, receivedAt, status, outcome, cause, bookmark, body } = request;
    const head = [id, tenantId, sourceId, receivedAt, status, outcome, cause, bookmark] as const;
    this.#statements.get(requestStatements[name]).run(...head, requestDocument(request), body);
    this.#bySource.note(request);
    this.#sql.within(holdCalls(heldOf(request)));
  }
}
