import type { KeptStretch, MovedPart, MovedRow, MoveTarget, Stretch } from "../../../ports/store/moving.ts";
import { type KeptRow, keptStretches, movedParts } from "../../moved-parts.ts";
import { numbers, texts } from "../driver/columns.ts";
import type { Transaction, Transactor } from "../driver/database.ts";
import { Partitions } from "../upkeep/partitions.ts";
import {
  besides,
  columnsOf,
  countPart,
  finishing,
  identities,
  insertSql,
  keyColumns,
  movingTable,
  numberOn,
  raiseAttemptLast,
  readPart,
  within,
} from "./moving-rows.ts";

/** Receives everything that another store holds. */
export class PostgresMoveTarget implements MoveTarget {
  readonly #database: Transactor;
  readonly #partitions: Partitions;
  readonly #close: () => Promise<void>;

  constructor(database: Transactor, close: () => Promise<void>) {
    this.#database = database;
    this.#partitions = new Partitions(database);
    this.#close = close;
  }

  async kept(part: MovedPart): Promise<readonly KeptStretch[]> {
    return keptStretches(
      await this.#database.rows<KeptRow>(
        `SELECT number, up_to, rows, digest, fingerprint FROM ${movingTable} WHERE part = $1 ORDER BY number`,
        [part.name],
      ),
    );
  }

  read(part: MovedPart, stretch: Stretch & { readonly limit: number }): Promise<readonly MovedRow[]> {
    return readPart(this.#database, part, stretch);
  }

  count(part: MovedPart): Promise<number> {
    return countPart(this.#database, part);
  }

  async replace(part: MovedPart, stretch: KeptStretch, rows: readonly MovedRow[]): Promise<void> {
    if (part.name === "attempts") await this.#makeMonths(part, rows);
    const { number, upTo } = stretch;
    await this.#database.transaction(async (transaction) => {
      await remove(transaction, part, stretch);
      await insert(transaction, part, stretch, rows);
      await transaction.rows(
        `INSERT INTO ${movingTable} VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (part, number) DO UPDATE
         SET rows = excluded.rows, digest = excluded.digest, fingerprint = excluded.fingerprint`,
        [part.name, number, JSON.stringify(upTo), stretch.rows, stretch.digest, stretch.fingerprint],
      );
    });
  }

  async #makeMonths(part: MovedPart, rows: readonly MovedRow[]): Promise<void> {
    const place = Object.keys(part.columns).indexOf("executed_at");
    const months = new Map(
      rows.map((row) => {
        const executedAt = Number(row[place]);
        return [new Date(executedAt).toISOString().slice(0, 7), executedAt];
      }),
    );
    for (const time of months.values()) await this.#partitions.ensureMonthOf(time);
  }

  /** In one transaction, so that a database in service is complete. */
  async finish(): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      const names = movedParts.map(({ name }) => name);
      const counted = await transaction.rows<[table: string, column: string]>(identities, [texts(names)]);
      for (const [table, column] of counted) await transaction.rows(numberOn(table, column));
      for (const sql of finishing) await transaction.rows(sql);
      await transaction.rows(`DROP TABLE ${movingTable}`);
    });
    // Otherwise the first statements would be planned for empty tables.
    for (const { name } of movedParts) await this.#database.rows(`ANALYZE posthorn.${name}`);
    await this.#database.rows("ANALYZE posthorn.queue");
  }

  async close(): Promise<void> {
    await this.#close();
  }
}

async function remove(transaction: Transaction, part: MovedPart, stretch: Stretch): Promise<void> {
  for (const { table } of besides[part.name] ?? []) {
    const bounds = within(["delivery"], stretch);
    await transaction.rows(`DELETE FROM posthorn.${table} ${bounds.sql}`, bounds.values);
  }
  const bounds = within(keyColumns(part), stretch);
  await transaction.rows(`DELETE FROM posthorn.${part.name} ${bounds.sql}`, bounds.values);
}

async function insert(
  transaction: Transaction,
  part: MovedPart,
  stretch: Stretch,
  rows: readonly MovedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await transaction.rows(insertSql(part), columnsOf(part, rows));
  for (const { insert: sql } of besides[part.name] ?? []) {
    const bounds = within(["d.seq"], stretch);
    await transaction.rows(`${sql} ${bounds.sql.replace("WHERE", "AND")}`, bounds.values);
  }
  if (part.name === "attempts")
    await transaction.rows(raiseAttemptLast, [
      numbers(rows.map((row) => Number(row[0]))),
      numbers(rows.map((row) => Number(row[1]))),
    ]);
}
