import { isTableName, type PostgresQueryable } from "../../domain/application-database.ts";
import { ReceiverError } from "../receiver-error.ts";

export type { PostgresQueryable, SqliteDatabase } from "../../domain/application-database.ts";

/** A `Pool` of `pg`. */
export interface PostgresPool<Client extends PostgresClient> {
  connect(): Promise<Client>;
}

export interface PostgresClient extends PostgresQueryable {
  /** If an error is given, the connection is closed and not reused. */
  release(error?: Error | boolean): void;
}

/** A client of node-redis, version 4 or later. */
export interface RedisClient {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** A table name that can be used in SQL unquoted. Throws ReceiverError `misconfigured`. */
export function checkedTableName(name: string): string {
  if (isTableName(name, false)) return name;
  throw new ReceiverError("misconfigured", `"${name}" is not a plain table name`);
}

/** Like `checkedTableName`, with an optional schema prefix. */
export function checkedQualifiedName(name: string): string {
  if (isTableName(name, true)) return name;
  throw new ReceiverError("misconfigured", `"${name}" is not a table name`);
}
