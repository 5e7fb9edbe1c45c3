import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
  KeptStretch,
  MovedPart,
  MovedRow,
  MovedValue,
  MoveTarget,
} from "../../../ports/store/moving.ts";
import { type KeptRow, keptStretches } from "../../moved-parts.ts";
import { finishing, SqlitePartReader, storedPart, within } from "./moving-rows.ts";

/** Receives everything that another store holds into an empty file. The caller owns the folder. */
export class SqliteMoveTarget extends SqlitePartReader implements MoveTarget {
  readonly #release: () => void;

  constructor(db: DatabaseSync, release: () => void) {
    super(db);
    this.#release = release;
  }

  kept(part: MovedPart): Promise<readonly KeptStretch[]> {
    return this.guarded(() =>
      keptStretches(
        this.statement(
          "SELECT number, up_to, rows, digest, fingerprint FROM moving WHERE part = ? ORDER BY number",
        ).all(part.name) as unknown as KeptRow[],
      ),
    );
  }

  replace(part: MovedPart, stretch: KeptStretch, rows: readonly MovedRow[]): Promise<void> {
    const stored = storedPart(part);
    return this.#inTransaction(() => {
      const { sql, values } = within(stored, stretch);
      this.statement(`DELETE FROM ${stored.table} ${sql}`).run(...values);
      const insert = this.#insert(part);
      for (const row of rows) insert.run(named(part, row));
      const { number, upTo, digest, fingerprint } = stretch;
      this.statement("INSERT OR REPLACE INTO moving VALUES (?, ?, ?, ?, ?, ?)").run(
        part.name,
        number,
        JSON.stringify(upTo),
        stretch.rows,
        digest,
        fingerprint,
      );
    });
  }

  #insert(part: MovedPart): StatementSync {
    const { table, writes } = storedPart(part);
    const statement = this.statement(
      `INSERT INTO ${table.split(" ")[0]} (${Object.keys(writes).join(", ")})
       VALUES (${Object.values(writes).join(", ")})`,
    );
    // This store does not have every column of a part.
    statement.setAllowUnknownNamedParameters(true);
    return statement;
  }

  finish(): Promise<void> {
    return this.#inTransaction(() => {
      for (const sql of finishing) this.db.exec(sql);
    });
  }

  override async close(): Promise<void> {
    await super.close();
    this.#release();
  }

  #inTransaction(work: () => void): Promise<void> {
    return this.guarded(() => {
      this.db.exec("BEGIN IMMEDIATE");
      try {
        work();
        this.db.exec("COMMIT");
      } catch (error) {
        if (this.db.isTransaction) this.db.exec("ROLLBACK");
        throw error;
      }
    });
  }
}

type Bound = string | number | Uint8Array | null;

function named(part: MovedPart, row: MovedRow): Record<string, Bound> {
  return Object.fromEntries(
    Object.keys(part.columns).map((name, place) => [name, bound(row[place] ?? null)]),
  );
}

function bound(value: MovedValue): Bound {
  return typeof value === "boolean" ? Number(value) : value;
}
