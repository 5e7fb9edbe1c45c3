import type { PostgresQueryable } from "../../domain/application-database.ts";
import {
  checkedTable,
  entriesOf,
  type OutboxRow,
  type OutboxStore,
  outboxTable,
  parkedOf,
  type ParkedRow,
} from "./outbox-store.ts";

export type { PostgresQueryable } from "../../domain/application-database.ts";

export interface PostgresOutboxOptions {
  /** Optionally with a schema prefix; defaults to `posthorn_outbox`. */
  readonly table?: string;
}

/**
 * Stores events in a table of the application's database, which {@link createPostgresOutboxTable} creates. The outbox
 * uses `pool`; pass the client of a transaction to `add`.
 */
export function createPostgresOutboxStore(
  pool: PostgresQueryable,
  options: PostgresOutboxOptions = {},
): OutboxStore<PostgresQueryable, Promise<void>> {
  const sql = statements(checkedTable(options.table ?? outboxTable, true));
  const run = async (text: string, ...values: unknown[]): Promise<number> =>
    (await pool.query(text, values)).rowCount ?? 0;

  return {
    put: async (id, event, transaction = pool) => {
      await transaction.query(sql.put, [id, event]);
    },
    claim: async (token, now, leaseUntil, limit) => {
      const { rows } = await pool.query(sql.claim, [token, leaseUntil, now, limit]);
      const claimed = rows as OutboxRow[];
      if (claimed.length === 0 || (await run(sql.giveBack, token, now)) === 0) return entriesOf(claimed);
      return [];
    },
    done: async (token, ids) => void (await run(sql.done, token, ids)),
    release: async (token, ids, dueAt) => void (await run(sql.release, token, ids, dueAt)),
    park: async (token, id, parkedAt, error) => void (await run(sql.park, token, id, parkedAt, error)),
    counts: async () => {
      const [row] = (await pool.query(sql.counts)).rows as { waiting: string; parked: string }[];
      return { waiting: Number(row?.waiting), parked: Number(row?.parked) };
    },
    listParked: async (limit) =>
      ((await pool.query(sql.listParked, [limit])).rows as ParkedRow[]).map(parkedOf),
    requeue: async (id, event) => (await run(sql.requeue, id, event)) > 0,
    discard: async (id) => (await run(sql.discard, id)) > 0,
  };
}

function statements(table: string) {
  const among = "token = $1 AND id = ANY ($2::text[])";
  return {
    put: `INSERT INTO ${table} (id, event) VALUES ($1, $2)`,
    // Two concurrent claims select the same oldest rows. The second claim waits for the first and finds these rows no
    // longer due, but it misses entries that were stored while it waited; `giveBack` handles that case.
    claim: `UPDATE ${table} SET token = $1, due_at = $2, attempts = attempts + 1,
        first_claimed_at = coalesce(first_claimed_at, $3)
      WHERE parked_at IS NULL AND due_at <= $3
        AND NOT EXISTS (SELECT 1 FROM ${table} WHERE parked_at IS NULL AND due_at > $3)
        AND position IN (SELECT position FROM ${table} WHERE parked_at IS NULL AND due_at <= $3
          ORDER BY position LIMIT $4)
      RETURNING position, id, event, attempts, first_claimed_at`,
    // A claim gives back all its entries if a claim that was committed in the meantime has older entries, or if an
    // older entry is not due yet, because newer entries must not overtake older ones. This is a separate statement,
    // because the claim cannot see other claims that began before it (READ COMMITTED).
    giveBack: `UPDATE ${table} SET token = NULL, due_at = 0, attempts = attempts - 1
      WHERE token = $1 AND EXISTS (SELECT FROM ${table} WHERE parked_at IS NULL AND due_at > $2 AND token IS DISTINCT FROM $1
        AND position < (SELECT max(position) FROM ${table} WHERE token = $1))`,
    done: `DELETE FROM ${table} WHERE ${among}`,
    release: `UPDATE ${table} SET due_at = $3, token = NULL WHERE ${among}`,
    park: `UPDATE ${table} SET parked_at = $3, error = $4, token = NULL WHERE token = $1 AND id = $2`,
    counts: `SELECT count(*) FILTER (WHERE parked_at IS NULL) AS waiting, count(parked_at) AS parked FROM ${table}`,
    listParked: `SELECT id, event, error, parked_at FROM ${table} WHERE parked_at IS NOT NULL ORDER BY position LIMIT $1`,
    requeue: `UPDATE ${table} SET parked_at = NULL, error = NULL, due_at = 0, event = coalesce($2, event)
      WHERE id = $1 AND parked_at IS NOT NULL`,
    discard: `DELETE FROM ${table} WHERE id = $1 AND parked_at IS NOT NULL`,
  };
}

/** Creates the table if it is missing. Use it in a migration of the application, or at its startup. */
export async function createPostgresOutboxTable(
  queryable: PostgresQueryable,
  options: PostgresOutboxOptions = {},
): Promise<void> {
  const table = checkedTable(options.table ?? outboxTable, true);
  // One call without values is one transaction; the lock prevents races between processes that start concurrently.
  await queryable.query(`
    SELECT pg_advisory_xact_lock(hashtextextended('posthorn-client-tables', 0));
    CREATE TABLE IF NOT EXISTS ${table} (
      position BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, event TEXT NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0, first_claimed_at BIGINT, token TEXT, due_at BIGINT NOT NULL DEFAULT 0,
      parked_at BIGINT, error TEXT
    );
    CREATE INDEX IF NOT EXISTS ${table.replace(".", "_")}_due ON ${table} (due_at) WHERE parked_at IS NULL`);
}
