/**
 * The parts of a database driver that Posthorn's packages for applications use. The application passes its own objects
 * in, so the packages do not depend on a driver.
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

/** Whether a name can be used in SQL unquoted, optionally with a schema prefix. */
export function isTableName(name: string, schemaAllowed: boolean): boolean {
  const parts = name.split(".");
  return (
    parts.length <= (schemaAllowed ? 2 : 1) && parts.every((part) => /^[a-z_][a-z0-9_]{0,62}$/i.test(part))
  );
}
