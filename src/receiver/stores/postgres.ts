import { outcomeOf, type DeduplicationStore, type InTransaction } from "../deduplication.ts";
import {
  checkedQualifiedName,
  type PostgresClient,
  type PostgresPool,
  type PostgresQueryable,
} from "./database-objects.ts";

export interface PostgresDeduplicationOptions {
  /** Optionally with a schema prefix; defaults to `posthorn_deduplication`. */
  readonly table?: string;
  /**
   * Whether `queryable` is inside a transaction that stays open while the handler runs. If so, a claim only tries to
   * take a lock in that transaction and returns `running` immediately if another transaction holds it, instead of
   * waiting for that transaction to end.
   */
  readonly isInTransaction?: boolean;
}

interface Row {
  readonly fingerprint: string;
  readonly result: string | null;
  /** `pg` returns BIGINT as a string. */
  readonly expires_at: string | number;
}

/** Maximum number of keys removed per call to `purge`. The limit keeps locks short. */
const purgeRowsMax = 1_000;

/** Stores keys in a table of the application's database, which {@link createPostgresDeduplicationTable} creates. */
export function createPostgresDeduplicationStore(
  queryable: PostgresQueryable,
  options: PostgresDeduplicationOptions = {},
): DeduplicationStore {
  const sql = statements(checkedQualifiedName(options.table ?? "posthorn_deduplication"));

  return {
    claim: async ({ key, fingerprint, token, now, expiresAt }) => {
      if (options.isInTransaction === true && !(await lockKey(queryable, key))) {
        return { kind: "running", expiresAt };
      }
      for (;;) {
        const claimed = await queryable.query(sql.claim, [key, fingerprint, token, expiresAt, now]);
        if (claimed.rowCount === 1) return { kind: "claimed" };
        const { rows } = await queryable.query(sql.read, [key]);
        const [row] = rows as Row[];
        // Another process released the key between the two statements, so it can be claimed.
        if (row !== undefined) return outcomeOf({ ...row, expiresAt: Number(row.expires_at) }, fingerprint);
      }
    },
    finish: async ({ key, fingerprint, token, result, expiresAt }) => {
      const finished = await queryable.query(sql.finish, [key, fingerprint, result, expiresAt, token]);
      return finished.rowCount === 1;
    },
    release: async (key, token) => {
      await queryable.query(sql.release, [key, token]);
    },
    purge: async (now) => (await queryable.query(sql.purge, [now, purgeRowsMax])).rowCount ?? 0,
  };
}

/** If the hashes of two messages collide, the messages only wait for each other unnecessarily. */
async function lockKey(queryable: PostgresQueryable, key: string): Promise<boolean> {
  const { rows } = await queryable.query(
    "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS is_locked",
    [`posthorn-deduplication ${key}`],
  );
  return (rows as { readonly is_locked: boolean }[])[0]?.is_locked === true;
}

function statements(table: string) {
  return {
    claim: `INSERT INTO ${table} AS known (key, fingerprint, token, expires_at) VALUES ($1, $2, $3, $4)
      ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, token = excluded.token, result = NULL,
        expires_at = excluded.expires_at
      WHERE known.expires_at <= $5`,
    read: `SELECT fingerprint, result, expires_at FROM ${table} WHERE key = $1`,
    // Inserts the result if the claim expired and was purged, because the work is done. The token of a completed key is
    // NULL, which equals nothing.
    finish: `INSERT INTO ${table} AS known (key, fingerprint, result, expires_at) VALUES ($1, $2, $3, $4)
      ON CONFLICT (key) DO UPDATE SET result = excluded.result, token = NULL, expires_at = excluded.expires_at
      WHERE known.token = $5`,
    release: `DELETE FROM ${table} WHERE key = $1 AND token = $2`,
    purge: `DELETE FROM ${table} WHERE key IN
      (SELECT key FROM ${table} WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
  };
}

/** Creates the table if it is missing. Use it in a migration of the application, or at its startup. */
export async function createPostgresDeduplicationTable(
  queryable: PostgresQueryable,
  options: Pick<PostgresDeduplicationOptions, "table"> = {},
): Promise<void> {
  const table = checkedQualifiedName(options.table ?? "posthorn_deduplication");
  // One call without values is one transaction; the lock prevents races between processes that start concurrently.
  await queryable.query(`
    SELECT pg_advisory_xact_lock(hashtextextended('posthorn-receiver-tables', 0));
    CREATE TABLE IF NOT EXISTS ${table} (
      key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, token TEXT, result TEXT, expires_at BIGINT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS ${table.replace(".", "_")}_expiry ON ${table} (expires_at)`);
}

/**
 * Runs claim, handler and result in one transaction on a connection of `pool`; `transaction` is that connection. Use
 * `postgresTransactions<pg.PoolClient>(pool)` for its full type.
 *
 * ```ts
 * createReceiver({
 *   deduplication: { inTransaction: postgresTransactions(pool) },
 *   handler: ({ transaction, json }) => transaction.query("INSERT INTO orders …", […]),
 * })
 * ```
 *
 * With a query builder, implement the same: open its transaction, and call `work` with
 * `createPostgresDeduplicationStore(queryable, { isInTransaction: true })`.
 */
export function postgresTransactions<Client extends PostgresClient = PostgresClient>(
  pool: PostgresPool<Client>,
  options: Pick<PostgresDeduplicationOptions, "table"> = {},
): InTransaction<Client> {
  return async (work) => {
    const client = await pool.connect();
    const store = createPostgresDeduplicationStore(client, { ...options, isInTransaction: true });
    try {
      await client.query("BEGIN");
      const result = await work({ transaction: client, store });
      await client.query("COMMIT");
      client.release();
      return result;
    } catch (error) {
      await rollBack(client);
      throw error;
    }
  };
}

/** A connection that cannot roll back is closed, which rolls back as well. */
async function rollBack(client: PostgresClient): Promise<void> {
  try {
    await client.query("ROLLBACK");
    client.release();
  } catch {
    client.release(true);
  }
}
