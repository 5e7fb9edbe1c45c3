import type { SqliteDatabase } from "../../domain/application-database.ts";
import {
  checkedTable,
  entriesOf,
  type OutboxRow,
  type OutboxStore,
  outboxTable,
  parkedOf,
  type ParkedRow,
} from "./outbox-store.ts";

export type { SqliteDatabase } from "../../domain/application-database.ts";

export interface SqliteOutboxOptions {
  /** Defaults to `posthorn_outbox`. */
  readonly table?: string;
}

/** `close` closes the connection that was opened for the store. */
export interface OpenSqliteOutboxStore extends OutboxStore<SqliteDatabase, void> {
  close(): void;
}

/** How long `put` without a transaction waits for another writer. */
const putWaitMs = 5_000;

/**
 * Opens the file with node:sqlite (Node 22.13 or later). To store events in the application's transactions, use the
 * path of its database, and pass its connection as the second argument of `add`.
 */
export function openSqliteOutboxStore(
  path: string,
  options: SqliteOutboxOptions = {},
): OpenSqliteOutboxStore {
  const database = openDatabase(path);
  return { ...createSqliteOutboxStore(database, options), close: () => database.close() };
}

/**
 * Like `openSqliteOutboxStore`, with an existing connection, for example of better-sqlite3. Use the connection only for
 * the outbox: statements on a connection with an open transaction become part of that transaction.
 */
export function createSqliteOutboxStore(
  database: SqliteDatabase,
  options: SqliteOutboxOptions = {},
): OutboxStore<SqliteDatabase, void> {
  const table = checkedTable(options.table ?? outboxTable, false);
  // A transaction of this process cannot end while this call blocks, so the outbox retries instead.
  const patiently = <T>(work: () => T): T => {
    database.exec(`PRAGMA busy_timeout = ${putWaitMs}`);
    try {
      return work();
    } finally {
      database.exec("PRAGMA busy_timeout = 0");
    }
  };
  patiently(() => createTable(database, table));
  const sql = statements(table);
  const run = (text: string, ...values: (string | number | null)[]): number =>
    Number(database.prepare(text).run(...values).changes);

  return {
    put: (id, event, transaction) => {
      if (transaction !== undefined) transaction.prepare(sql.put).run(id, event);
      else patiently(() => run(sql.put, id, event));
    },
    claim: async (token, now, leaseUntil, limit) => {
      const values = [token, leaseUntil, now, now, now, now, limit];
      return entriesOf(database.prepare(sql.claim).all(...values) as OutboxRow[]);
    },
    done: async (token, ids) => void run(sql.done, token, JSON.stringify(ids)),
    release: async (token, ids, dueAt) => void run(sql.release, dueAt, token, JSON.stringify(ids)),
    park: async (token, id, parkedAt, error) => void run(sql.park, parkedAt, error, token, id),
    // A copy, because rows of node:sqlite have no prototype.
    counts: async () => ({ ...(database.prepare(sql.counts).get() as { waiting: number; parked: number }) }),
    listParked: async (limit) => (database.prepare(sql.listParked).all(limit) as ParkedRow[]).map(parkedOf),
    requeue: async (id, event) => run(sql.requeue, event, id) > 0,
    discard: async (id) => run(sql.discard, id) > 0,
  };
}

function createTable(database: SqliteDatabase, table: string): void {
  database.exec(`CREATE TABLE IF NOT EXISTS ${table} (
    position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, event TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, first_claimed_at INTEGER, token TEXT, due_at INTEGER NOT NULL DEFAULT 0,
    parked_at INTEGER, error TEXT
  )`);
  database.exec(`CREATE INDEX IF NOT EXISTS ${table}_due ON ${table} (due_at) WHERE parked_at IS NULL`);
}

function statements(table: string) {
  const among = "token = ? AND id IN (SELECT value FROM json_each(?))";
  return {
    put: `INSERT INTO ${table} (id, event) VALUES (?, ?)`,
    // The oldest entry decides: while it is claimed or not due, the entries behind it wait too.
    claim: `UPDATE ${table} SET token = ?, due_at = ?, attempts = attempts + 1,
        first_claimed_at = coalesce(first_claimed_at, ?)
      WHERE parked_at IS NULL AND due_at <= ? AND ? >= (SELECT max(due_at) FROM ${table} WHERE parked_at IS NULL)
        AND position IN (SELECT position FROM ${table} WHERE parked_at IS NULL AND due_at <= ?
          ORDER BY position LIMIT ?)
      RETURNING position, id, event, attempts, first_claimed_at`,
    done: `DELETE FROM ${table} WHERE ${among}`,
    release: `UPDATE ${table} SET due_at = ?, token = NULL WHERE ${among}`,
    park: `UPDATE ${table} SET parked_at = ?, error = ?, token = NULL WHERE token = ? AND id = ?`,
    counts: `SELECT count(*) FILTER (WHERE parked_at IS NULL) AS waiting, count(parked_at) AS parked FROM ${table}`,
    listParked: `SELECT id, event, error, parked_at FROM ${table} WHERE parked_at IS NOT NULL ORDER BY position LIMIT ?`,
    requeue: `UPDATE ${table} SET parked_at = NULL, error = NULL, due_at = 0, event = coalesce(?, event)
      WHERE id = ? AND parked_at IS NOT NULL`,
    discard: `DELETE FROM ${table} WHERE id = ? AND parked_at IS NOT NULL`,
  };
}

interface Closable extends SqliteDatabase {
  close(): void;
}

/** Looked up by name at run time, so that bundlers for browsers do not resolve it. */
function openDatabase(path: string): Closable {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const sqlite = process?.getBuiltinModule?.("node:sqlite") as
    | { readonly DatabaseSync: new (path: string) => Closable }
    | undefined;
  if (sqlite === undefined)
    throw new TypeError(
      "this runtime has no node:sqlite (Node has it from 22.13 on); open the file with another package, and give the connection to createSqliteOutboxStore",
    );
  return new sqlite.DatabaseSync(path);
}
