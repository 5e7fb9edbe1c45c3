import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Store, StoreUnavailableError } from "../../ports/store.ts";
import { Audit } from "../documents/audit.ts";
import { documentStores } from "../documents/document-stores.ts";
import { Gateway } from "../documents/gateway.ts";
import { Portal } from "../documents/portal.ts";
import { Problems } from "../documents/problems.ts";
import { Registry } from "../documents/registry.ts";
import { Webhooks } from "../documents/webhooks.ts";
import type { MigrationPlan } from "../migrations.ts";
import { GatewayAnswers, GatewayRequestRows, RequestsBySource } from "./documents/gateway-log.ts";
import { SqliteRequestLog } from "./documents/gateway.ts";
import { SqliteIdempotency } from "./documents/idempotency.ts";
import { ProblemWriter } from "./documents/problems.ts";
import { SqliteStatistics } from "./documents/statistics.ts";
import { Checkpointer } from "./driver/checkpointer.ts";
import { Connection, diskFull, diskSpace, isDiskFull, openDatabase } from "./driver/connection.ts";
import { refuseEmptied, storeError } from "./driver/errors.ts";
import { type OwnerLock, takeOwnerLock } from "./driver/owner-lock.ts";
import { SqliteSql } from "./driver/sql.ts";
import { SqliteDeliveries } from "./events/deliveries.ts";
import { SqliteHistory } from "./lists/history.ts";
import { migrate, migrations, planMigrations } from "./migrations.ts";
import { refuseMoved } from "./move/moving-rows.ts";
import { loadState } from "./state.ts";
import { SqliteUpkeep } from "./upkeep/upkeep.ts";

export interface SqliteStoreOptions {
  /** The data folder, created if it is missing. Only one process at a time can own it. */
  readonly dataDir: string;
  /** Unix milliseconds, recorded with migrations. */
  readonly now: number;
  readonly pid: number;
  /**
   * How long a write waits for an external connection that blocks it, such as an operator's shell in a transaction. The
   * wait blocks the event loop, so it is short; the engine retries.
   */
  readonly busyTimeoutMs?: number;
  /** For the move itself: also opens a store that was moved elsewhere, or that is the target of an unfinished move. */
  readonly evenIfMoved?: boolean;
}

const busyTimeoutMsDefault = 250;

export function databaseFile(dataDir: string): string {
  return join(dataDir, "posthorn.db");
}

/**
 * Opens the embedded store: locks the folder, migrates the schema, and releases leases left by a crash. The cost does not
 * depend on the amount of stored data.
 *
 * Throws DataFolderInUseError, DevelopmentSchemaError, SchemaTooNewError, MigrationMismatchError,
 * ForeignDatabaseError, StoreMovedError, StoreUnavailableError.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  mkdirSync(options.dataDir, { recursive: true });
  let lock: OwnerLock | null = null;
  let connection: Connection | null = null;
  try {
    lock = takeOwnerLock(options.dataDir, options.pid);
    const db = openDatabase(
      databaseFile(options.dataDir),
      options.busyTimeoutMs ?? busyTimeoutMsDefault,
      planMigrations,
    );
    connection = new Connection(db);
    migrate(db, options.now);
    if (options.evenIfMoved !== true) refuseMoved(db, options.dataDir);
    const checkpointer = new Checkpointer(db, databaseFile(options.dataDir));
    connection.join(checkpointer);
    return assemble(connection, lock, checkpointer, options.dataDir);
  } catch (error) {
    connection?.close();
    lock?.release();
    throw openError(error, options.dataDir);
  }
}

/** On a full disk, SQLite reports only that it cannot create its working files. */
function openError(cause: unknown, dataDir: string): unknown {
  const error = storeError(cause);
  const isVague = error instanceof StoreUnavailableError && error.trouble === "away";
  return isVague && isDiskFull(dataDir) ? diskFull(cause) : error;
}

/**
 * Returns the migrations that opening the folder would run. Writes nothing, and can be called while another process
 * owns the folder.
 */
export function planStoreMigrations(dataDir: string): MigrationPlan {
  const file = databaseFile(dataDir);
  refuseEmptied(file);
  if (!existsSync(file)) return { from: 0, pending: migrations };
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return planMigrations(db);
  } catch (error) {
    throw storeError(error);
  } finally {
    db.close();
  }
}

function assemble(
  connection: Connection,
  lock: OwnerLock,
  checkpointer: Checkpointer,
  dataDir: string,
): Store {
  const state = loadState(connection);
  const sql = new SqliteSql(connection);
  const statistics = new SqliteStatistics(state, sql);
  const requestsBySource = new RequestsBySource(connection);
  const requests = new GatewayRequestRows(connection, sql, requestsBySource);
  const answers = new GatewayAnswers(connection);
  const deliveries = new SqliteDeliveries(state, {
    sql,
    requests,
    answers,
    statistics: statistics.writer,
    problems: new ProblemWriter(connection),
  });
  deliveries.recover();
  statistics.recoverAll();
  const probe = connection.prepare("SELECT 1");
  const facts = connection.prepare(
    "SELECT (SELECT max(number) FROM migrations), page_count * page_size FROM pragma_page_count(), pragma_page_size()",
  );
  return {
    deliveries,
    history: new SqliteHistory(state),
    webhooks: new Webhooks(sql),
    registry: new Registry(sql),
    idempotency: new SqliteIdempotency(connection),
    ...documentStores(sql),
    audit: new Audit(sql, sql),
    portal: new Portal(sql, sql),
    gateway: new Gateway(sql, sql, new SqliteRequestLog(connection, requests, requestsBySource, answers)),
    statistics,
    problems: new Problems(sql),
    upkeep: new SqliteUpkeep(state, deliveries, sql, statistics.writer),
    disk: () => diskSpace(dataDir),
    facts: async () => {
      const [schemaVersion, sizeBytes] = connection.read(() => facts.get()) as unknown as [number, number];
      return { schemaVersion, sizeBytes };
    },
    ping: async () => {
      connection.check();
      connection.read(() => probe.get());
    },
    close: async () => {
      await checkpointer.close();
      connection.close();
      lock.release();
    },
  };
}
