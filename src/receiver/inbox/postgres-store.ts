import { checkedQualifiedName, type PostgresQueryable } from "../stores/database-objects.ts";
import { entryOf, type InboxRow, type InboxStore, inboxTable, parkedOf } from "./inbox-store.ts";

interface PostgresInboxOptions {
  /** Optionally with a schema; defaults to `posthorn_inbox`. */
  readonly table?: string;
}

/** Stores messages in a table of the application's database, which {@link createPostgresInboxTable} creates. */
export function createPostgresInboxStore(
  queryable: PostgresQueryable,
  options: PostgresInboxOptions = {},
): InboxStore {
  const sql = statements(checkedQualifiedName(options.table ?? inboxTable));
  const didChange = async (text: string, values: unknown[]): Promise<boolean> =>
    (await queryable.query(text, values)).rowCount === 1;

  return {
    put: async ({ id, envelope, body, dueAt }) => {
      await queryable.query(sql.put, [id, envelope, body, dueAt]);
    },
    claim: async (now, leaseUntil, token) => {
      const { rows } = await queryable.query(sql.claim, [token, leaseUntil, now]);
      const [row] = rows as InboxRow[];
      return row === undefined ? null : entryOf(row);
    },
    done: ({ id, token }) => didChange(sql.done, [id, token]),
    postpone: ({ id, token, dueAt, error }) => didChange(sql.postpone, [id, token, dueAt, error]),
    park: ({ id, token, parkedAt, error }) => didChange(sql.park, [id, token, parkedAt, error]),
    listParked: async (limit) =>
      ((await queryable.query(sql.listParked, [limit])).rows as InboxRow[]).map(parkedOf),
    requeue: (id, now) => didChange(sql.requeue, [id, now]),
    discard: (id) => didChange(sql.discard, [id]),
  };
}

function statements(table: string) {
  const claimed = "id = $1 AND token = $2";
  const parked = "id = $1 AND parked_at IS NOT NULL";
  return {
    put: `INSERT INTO ${table} (id, envelope, body, due_at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
    claim: `UPDATE ${table} SET attempts = attempts + 1, token = $1, due_at = $2 WHERE id =
      (SELECT id FROM ${table} WHERE parked_at IS NULL AND due_at <= $3 ORDER BY due_at LIMIT 1
       FOR UPDATE SKIP LOCKED) RETURNING *`,
    done: `DELETE FROM ${table} WHERE ${claimed}`,
    postpone: `UPDATE ${table} SET due_at = $3, error = $4, token = NULL WHERE ${claimed}`,
    park: `UPDATE ${table} SET parked_at = $3, error = $4, token = NULL WHERE ${claimed}`,
    listParked: `SELECT * FROM ${table} WHERE parked_at IS NOT NULL ORDER BY parked_at LIMIT $1`,
    requeue: `UPDATE ${table} SET parked_at = NULL, attempts = 0, due_at = $2 WHERE ${parked}`,
    discard: `DELETE FROM ${table} WHERE ${parked}`,
  };
}

/** Creates the table if it is missing. Use it in a migration of the application, or at its startup. */
export async function createPostgresInboxTable(
  queryable: PostgresQueryable,
  options: PostgresInboxOptions = {},
): Promise<void> {
  const table = checkedQualifiedName(options.table ?? inboxTable);
  // One call without values is one transaction; the lock prevents races between processes that start concurrently.
  await queryable.query(`
    SELECT pg_advisory_xact_lock(hashtextextended('posthorn-receiver-tables', 0));
    CREATE TABLE IF NOT EXISTS ${table} (
      id TEXT PRIMARY KEY, envelope TEXT NOT NULL, body BYTEA NOT NULL, due_at BIGINT NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0, token TEXT, parked_at BIGINT, error TEXT
    );
    CREATE INDEX IF NOT EXISTS ${table.replace(".", "_")}_due ON ${table} (due_at) WHERE parked_at IS NULL`);
}
