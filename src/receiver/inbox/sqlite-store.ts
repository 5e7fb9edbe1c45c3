import { checkedTableName, type SqliteDatabase } from "../stores/database-objects.ts";
import { entryOf, type InboxRow, type InboxStore, inboxTable, parkedOf } from "./inbox-store.ts";

/** Stores messages in a table of the application's database; creates the table if it is missing. */
export function createSqliteInboxStore(
  database: SqliteDatabase,
  options: { readonly table?: string } = {},
): InboxStore {
  const table = checkedTableName(options.table ?? inboxTable);
  createTable(database, table);
  const sql = prepare(database, table);

  return {
    put: async ({ id, envelope, body, dueAt }) => {
      sql.put.run(id, envelope, body, dueAt);
    },
    claim: async (now, leaseUntil, token) => {
      const row = sql.claim.get(token, leaseUntil, now) as InboxRow | undefined;
      return row === undefined ? null : entryOf(row);
    },
    done: async ({ id, token }) => Number(sql.done.run(id, token).changes) > 0,
    postpone: async ({ id, token, dueAt, error }) =>
      Number(sql.postpone.run(dueAt, error, id, token).changes) > 0,
    park: async ({ id, token, parkedAt, error }) =>
      Number(sql.park.run(parkedAt, error, id, token).changes) > 0,
    listParked: async (limit) => (sql.listParked.all(limit) as InboxRow[]).map(parkedOf),
    requeue: async (id, now) => Number(sql.requeue.run(now, id).changes) > 0,
    discard: async (id) => Number(sql.discard.run(id).changes) > 0,
  };
}

function createTable(database: SqliteDatabase, table: string): void {
  database.exec(`CREATE TABLE IF NOT EXISTS ${table} (
    id TEXT PRIMARY KEY, envelope TEXT NOT NULL, body BLOB NOT NULL, due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, token TEXT, parked_at INTEGER, error TEXT
  )`);
  database.exec(`CREATE INDEX IF NOT EXISTS ${table}_due ON ${table} (due_at) WHERE parked_at IS NULL`);
}

function prepare(database: SqliteDatabase, table: string) {
  const claimed = "id = ? AND token = ?";
  const parked = "id = ? AND parked_at IS NOT NULL";
  return {
    put: database.prepare(
      `INSERT INTO ${table} (id, envelope, body, due_at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    ),
    claim: database.prepare(`UPDATE ${table} SET attempts = attempts + 1, token = ?, due_at = ? WHERE id =
      (SELECT id FROM ${table} WHERE parked_at IS NULL AND due_at <= ? ORDER BY due_at LIMIT 1) RETURNING *`),
    done: database.prepare(`DELETE FROM ${table} WHERE ${claimed}`),
    postpone: database.prepare(`UPDATE ${table} SET due_at = ?, error = ?, token = NULL WHERE ${claimed}`),
    park: database.prepare(`UPDATE ${table} SET parked_at = ?, error = ?, token = NULL WHERE ${claimed}`),
    listParked: database.prepare(
      `SELECT * FROM ${table} WHERE parked_at IS NOT NULL ORDER BY parked_at LIMIT ?`,
    ),
    requeue: database.prepare(
      `UPDATE ${table} SET parked_at = NULL, attempts = 0, due_at = ? WHERE ${parked}`,
    ),
    discard: database.prepare(`DELETE FROM ${table} WHERE ${parked}`),
  };
}
