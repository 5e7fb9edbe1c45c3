import { outcomeOf, type DeduplicationStore, type InTransaction } from "../deduplication.ts";
import { checkedTableName, type SqliteDatabase } from "./database-objects.ts";

interface Row {
  readonly fingerprint: string;
  readonly result: string | null;
  readonly expires_at: number;
}

export interface SqliteDeduplicationOptions {
  /** Defaults to `posthorn_deduplication`. */
  readonly table?: string;
}

/** Maximum number of keys removed per call to `purge`. The limit keeps the database lock short. */
const purgeRowsMax = 1_000;

/**
 * Stores keys in a table of the application's database; creates the table if it is missing. Several processes may share
 * the file. Every method is one statement, so it also works inside a transaction that is open on the connection.
 */
export function createSqliteDeduplicationStore(
  database: SqliteDatabase,
  options: SqliteDeduplicationOptions = {},
): DeduplicationStore {
  const table = checkedTableName(options.table ?? "posthorn_deduplication");
  database.exec(`CREATE TABLE IF NOT EXISTS ${table} (
    key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, token TEXT, result TEXT, expires_at INTEGER NOT NULL
  ) WITHOUT ROWID`);
  database.exec(`CREATE INDEX IF NOT EXISTS ${table}_expiry ON ${table} (expires_at)`);
  const sql = statements(table);
  const claimRow = database.prepare(sql.claim);
  const readRow = database.prepare(sql.read);
  const finishRow = database.prepare(sql.finish);
  const releaseRow = database.prepare(sql.release);
  const purgeRows = database.prepare(sql.purge);

  return {
    claim: async ({ key, fingerprint, token, now, expiresAt }) => {
      for (;;) {
        if (Number(claimRow.run(key, fingerprint, token, expiresAt, now).changes) > 0)
          return { kind: "claimed" };
        const row = readRow.get(key) as Row | undefined;
        // Another process released the key between the two statements, so it can be claimed.
        if (row !== undefined) return outcomeOf({ ...row, expiresAt: row.expires_at }, fingerprint);
      }
    },
    finish: async ({ key, fingerprint, token, result, expiresAt }) =>
      Number(finishRow.run(key, fingerprint, result, expiresAt, token).changes) > 0,
    release: async (key, token) => {
      releaseRow.run(key, token);
    },
    purge: async (now) => Number(purgeRows.run(now, purgeRowsMax).changes),
  };
}

function statements(table: string) {
  return {
    claim: `INSERT INTO ${table} AS known (key, fingerprint, token, expires_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, token = excluded.token, result = NULL,
        expires_at = excluded.expires_at
      WHERE known.expires_at <= ?`,
    read: `SELECT fingerprint, result, expires_at FROM ${table} WHERE key = ?`,
    // Inserts the result if the claim expired and was purged, because the work is done. The token of a completed key is
    // NULL, which equals nothing.
    finish: `INSERT INTO ${table} AS known (key, fingerprint, result, expires_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET result = excluded.result, token = NULL, expires_at = excluded.expires_at
      WHERE known.token = ?`,
    release: `DELETE FROM ${table} WHERE key = ? AND token = ?`,
    purge: `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE expires_at <= ? LIMIT ?)`,
  };
}

/**
 * Runs claim, handler and result in one transaction of `database`, one message at a time. Use a separate connection for
 * the receiver: any other statement on it while a handler is waiting becomes part of the transaction.
 *
 * ```ts
 * createReceiver({
 *   deduplication: { inTransaction: sqliteTransactions(database) },
 *   handler: ({ transaction, json }) => transaction.prepare("INSERT INTO orders …").run(…),
 * })
 * ```
 */
export function sqliteTransactions<Database extends SqliteDatabase>(
  database: Database,
  options: SqliteDeduplicationOptions = {},
): InTransaction<Database> {
  const store = createSqliteDeduplicationStore(database, options);
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = async () => {
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = await work({ transaction: database, store });
        database.exec("COMMIT");
        return result;
      } catch (error) {
        rollBack(database);
        throw error;
      }
    };
    const result = last.then(run);
    last = result.catch(() => undefined);
    return result;
  };
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // SQLite has already rolled back, for example because the disk is full.
  }
}
