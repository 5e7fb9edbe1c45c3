import type { KeptStretch, MovedPart, MovedRow, MoveTarget, Stretch } from "../../../ports/store/moving.ts";
import {
  holdsSomething,
  type KeptRow,
  keptStretches,
  movedParts,
  otherMoveInto,
  tellingTables,
} from "../../moved-parts.ts";
import { Database, type Runner, type Transaction, type Transactor } from "../driver/database.ts";
import { loadDriver, parseAddress } from "../driver/driver.ts";
import {
  checkMasterKey,
  type DigestKeyRow,
  digestKeyRow,
  Incarnations,
  judgeServer,
  readServerFacts,
} from "../driver/server.ts";
import { numbers, texts } from "../driver/sql.ts";
import { planMigrations } from "../migrations.ts";
import { type PostgresStoreOptions, preparePostgres, withSetup } from "../open.ts";
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

const alsoEmptied = ["queue", "dead_letters", "counters", "ownership", "runtime_orders", "stat_journal"];
const connectTimeoutMs = 6_000;

export interface PostgresMoveEnd<Rows> {
  readonly rows: Rows;
  /** The address without credentials. */
  readonly place: string;
  readonly digestKey: DigestKeyRow;
}

/**
 * Opens an empty database for a move, or a database for which the same move has already begun. No process can use it
 * before the move is finished. Throws the errors of opening a store, and StoreMovedError.
 */
export async function openPostgresMoveTarget(
  options: Pick<PostgresStoreOptions, "url" | "now" | "masterKeyIds"> & { readonly source: string },
): Promise<PostgresMoveEnd<MoveTarget>> {
  const { driver, address } = await preparePostgres({ ...options, connectTimeoutMs });
  const database = new Database(driver, {
    url: options.url,
    connectionsMax: 1,
    connectTimeoutMs,
    preparedStatements: "off",
    bounds: null,
    incarnations: new Incarnations(),
    unanswered: null,
  });
  try {
    await checkMasterKey(database, options.masterKeyIds);
    await database.transaction((transaction) => begin(transaction, address.at, options.source));
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    rows: new PostgresMoveTarget(database, () => database.close()),
    place: address.at,
    digestKey: digestKeyRow(database, address.at),
  };
}

/** Throws the same errors as `openPostgresMoveTarget`, but changes nothing. */
export async function judgePostgresMoveTarget(url: string, source: string): Promise<void> {
  const { at } = parseAddress(url);
  await withSetup(await loadDriver(), { url, connectTimeoutMs }, async (database) => {
    judgeServer(await readServerFacts(database));
    const { from } = await planMigrations(database);
    if (from === 0) return;
    const [found] = await database.rows<[isMoving: boolean]>(
      `SELECT to_regclass('${movingTable}') IS NOT NULL`,
    );
    if (found?.[0] === true) await sameMove(database, at, source);
    else await refuseFull(database, at);
  });
}

/** Deletes the data that a first start created, and marks the database so that no server can use it. */
async function begin(transaction: Transaction, at: string, source: string): Promise<void> {
  await transaction.rows(
    `CREATE TABLE IF NOT EXISTS ${movingTable} (
       part text COLLATE "C", number integer, up_to text NOT NULL, rows integer NOT NULL, digest text NOT NULL,
       fingerprint text NOT NULL, PRIMARY KEY (part, number))`,
  );
  if (await sameMove(transaction, at, source)) return;
  await refuseFull(transaction, at);
  const tables = [...movedParts.map(({ name }) => name), ...alsoEmptied].map((name) => `posthorn.${name}`);
  await transaction.rows(`TRUNCATE ${tables.join(", ")}`);
  await transaction.rows(`INSERT INTO ${movingTable} VALUES ('', 0, $1, 0, '', '')`, [source]);
}

/** Whether this move has already begun. */
async function sameMove(runner: Runner, at: string, source: string): Promise<boolean> {
  const [begun] = await runner.rows<[source: string]>(`SELECT up_to FROM ${movingTable} WHERE part = ''`);
  if (begun === undefined) return false;
  if (begun[0] !== source) throw otherMoveInto(at, begun[0]);
  return true;
}

async function refuseFull(runner: Runner, at: string): Promise<void> {
  for (const table of tellingTables) {
    const rows = await runner.rows(`SELECT FROM posthorn.${table} LIMIT 1`);
    if (rows.length > 0) throw holdsSomething(at, table);
  }
}

/** Receives all data of another store. */
class PostgresMoveTarget implements MoveTarget {
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

  /** Runs in one transaction, because a database that is put into service must be complete. */
  async finish(): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      const names = movedParts.map(({ name }) => name);
      const counted = await transaction.rows<[table: string, column: string]>(identities, [texts(names)]);
      for (const [table, column] of counted) await transaction.rows(numberOn(table, column));
      for (const sql of finishing) await transaction.rows(sql);
      await transaction.rows(`DROP TABLE ${movingTable}`);
    });
    // Without ANALYZE, the first statements would be planned for empty tables.
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
