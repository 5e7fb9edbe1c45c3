import { existsSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { MovedKey, MovedPart, MovedRow, MoveSource, Stretch } from "../../../ports/store/moving.ts";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { movedRow } from "../moved-values.ts";
import { storeError } from "./errors.ts";
import { type StoredPart, storedPart } from "./moving-rows.ts";
import { databaseFile } from "./open.ts";

/** Reads what a data folder holds, also while a server works on it: it only reads. */
export function openSqliteMoveSource({ dataDir }: { readonly dataDir: string }): MoveSource {
  const file = databaseFile(dataDir);
  if (!existsSync(file)) throw new StoreUnavailableError(`there is no database in ${dataDir}`);
  try {
    return new SqliteMoveSource(new DatabaseSync(file, { readOnly: true, timeout: 5_000 }));
  } catch (error) {
    throw storeError(error);
  }
}

class SqliteMoveSource implements MoveSource {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** The server's WAL cannot shrink until the next call. */
  async freeze(): Promise<void> {
    await this.#guarded(() => {
      if (this.#db.isTransaction) this.#db.exec("COMMIT");
      this.#db.exec("BEGIN");
    });
  }

  read(
    part: MovedPart,
    { limit, ...stretch }: Stretch & { readonly limit: number },
  ): Promise<readonly MovedRow[]> {
    const stored = storedPart(part);
    const bounds = boundsOf(stored, stretch);
    return this.#guarded(() =>
      this.#statement(`${selectOf(stored)} ${bounds.sql} ORDER BY ${stored.key.join(", ")} LIMIT ?`)
        .all(...bounds.values, limit)
        .map((row) => movedRow(part, row as unknown as readonly unknown[])),
    );
  }

  count(part: MovedPart): Promise<number> {
    const { from } = storedPart(part);
    return this.#guarded(() => {
      const row = this.#statement(`SELECT count(*) FROM ${from}`).get();
      return (row as unknown as [count: number])[0];
    });
  }

  async close(): Promise<void> {
    if (this.#db.isOpen) this.#db.close();
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    statement.setReturnArrays(true);
    this.#statements.set(sql, statement);
    return statement;
  }

  async #guarded<Result>(work: () => Result): Promise<Result> {
    try {
      return work();
    } catch (error) {
      throw storeError(error);
    }
  }
}

function selectOf({ columns, from }: StoredPart): string {
  return `SELECT ${Object.values(columns).join(", ")} FROM ${from}`;
}

function boundsOf(
  { key, keyOf = (same) => same }: StoredPart,
  { after, upTo }: Stretch,
): { readonly sql: string; readonly values: MovedKey } {
  const place = (of: MovedKey) => `(${of.map(() => "?").join(", ")})`;
  const columns = `(${key.join(", ")})`;
  const from = after === null ? [] : keyOf(after);
  const to = upTo === null ? [] : keyOf(upTo);
  const clauses = [
    ...(from.length === 0 ? [] : [`${columns} > ${place(from)}`]),
    ...(to.length === 0 ? [] : [`${columns} <= ${place(to)}`]),
  ];
  return { sql: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`, values: [...from, ...to] };
}
