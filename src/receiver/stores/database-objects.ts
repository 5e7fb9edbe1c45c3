import { ReceiverError } from "../receiver-error.ts";

/**
 * The parts of a database driver that the stores need. The application passes its own objects in, so the kit depends on
 * no driver and opens no connection.
 */

/** A synchronous SQLite connection: `DatabaseSync` of node:sqlite, or a `Database` of better-sqlite3. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

export type SqliteValue = string | number | Uint8Array | null;

/** A `Client`, `Pool` or `PoolClient` of `pg`, or anything with the same `query`. */
export interface PostgresQueryable {
  query(
    sql: string,
    values?: unknown[],
  ): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>;
}

/** A `Pool` of `pg`. */
export interface PostgresPool<Client extends PostgresClient> {
  connect(): Promise<Client>;
}

export interface PostgresClient extends PostgresQueryable {
  /** With an error, the connection is closed and not used again. */
  release(error?: Error | boolean): void;
}

/** A client of node-redis, version 4 or later. */
export interface RedisClient {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** A table name that can stand in SQL as it is. Throws ReceiverError `misconfigured`. */
export function checkedTableName(name: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/i.test(name)) return name;
  throw new ReceiverError("misconfigured", `"${name}" is not a plain table name`);
}

/** The same, with or without a schema before it. */
export function checkedQualifiedName(name: string): string {
  const parts = name.split(".");
  if (parts.length > 2) throw new ReceiverError("misconfigured", `"${name}" is not a table name`);
  return parts.map(checkedTableName).join(".");
}
