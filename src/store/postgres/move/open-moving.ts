import type { MoveTarget } from "../../../ports/store/moving.ts";
import { holdsSomething, movedParts, otherMoveInto, tellingTables } from "../../moved-parts.ts";
import { Database, type Runner, type Transaction } from "../driver/database.ts";
import { checkMasterKey, digestKeyRow, type DigestKeyRow } from "../driver/deployment.ts";
import { loadDriver, parseAddress } from "../driver/driver.ts";
import { Incarnations, judgeServer, readServerFacts } from "../driver/server.ts";
import { planMigrations } from "../migrations.ts";
import { type PostgresStoreOptions, preparePostgres, withSetup } from "../open.ts";
import { movingTable } from "./moving-rows.ts";
import { PostgresMoveTarget } from "./moving-target.ts";

const alsoEmptied = ["queue", "dead_letters", "counters", "ownership", "runtime_orders", "stat_journal"];
const connectTimeoutMs = 6_000;

export interface PostgresMoveEnd<Rows> {
  readonly rows: Rows;
  /** The address without credentials. */
  readonly place: string;
  readonly digestKey: DigestKeyRow;
}

/**
 * Opens an empty database for a move, or one into which the same move has begun. No process can serve from it before
 * the move is finished. Throws the errors of opening a store, and StoreMovedError.
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

/** Throws the errors of `openPostgresMoveTarget`, and changes nothing. */
export async function judgePostgresMoveTarget(options: {
  readonly url: string;
  readonly source: string;
}): Promise<void> {
  const { at } = parseAddress(options.url);
  await withSetup(await loadDriver(), { url: options.url, connectTimeoutMs }, async (database) => {
    judgeServer(await readServerFacts(database));
    const { from } = await planMigrations(database);
    if (from === 0) return;
    const [found] = await database.rows<[isMoving: boolean]>(
      `SELECT to_regclass('${movingTable}') IS NOT NULL`,
    );
    if (found?.[0] === true) await sameMove(database, at, options.source);
    else await refuseFull(database, at);
  });
}

/** Deletes what a first start has created, and closes the database for servers. */
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
