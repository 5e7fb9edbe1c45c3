import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { MovedPart, MovedRow, MovedRows, Stretch } from "../../../ports/store/moving.ts";
import { movedRow } from "../moved-values.ts";
import { storeError } from "./errors.ts";
import { storedPart, within } from "./moving-rows.ts";
import { StatementCache } from "./statement-cache.ts";

/** Reads parts from a database file. */
export class SqlitePartReader implements MovedRows {
  protected readonly db: DatabaseSync;
  readonly #statements: StatementCache;

  constructor(db: DatabaseSync) {
    this.db = db;
    this.#statements = new StatementCache({ prepare: (sql) => preparedForArrays(db, sql) });
  }

  read(
    part: MovedPart,
    { limit, ...stretch }: Stretch & { readonly limit: number },
  ): Promise<readonly MovedRow[]> {
    const stored = storedPart(part);
    const { sql, values } = within(stored, stretch);
    const columns = Object.values(stored.columns).join(", ");
    return this.guarded(() =>
      this.statement(`SELECT ${columns} FROM ${stored.from} ${sql} ORDER BY ${stored.key.join(", ")} LIMIT ?`)
        .all(...values, limit)
        .map((row) => movedRow(part, row as unknown as readonly unknown[])),
    );
  }

  count(part: MovedPart): Promise<number> {
    const { from } = storedPart(part);
    return this.guarded(() => {
      const row = this.statement(`SELECT count(*) FROM ${from}`).get();
      return (row as unknown as [count: number])[0];
    });
  }

  async close(): Promise<void> {
    if (this.db.isOpen) this.db.close();
  }

  /** Rows come as arrays. */
  protected statement(sql: string): StatementSync {
    return this.#statements.get(sql);
  }

  protected async guarded<Result>(work: () => Result): Promise<Result> {
    try {
      return work();
    } catch (error) {
      throw storeError(error);
    }
  }
}

function preparedForArrays(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}
