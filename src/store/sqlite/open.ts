import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Store, StoreUnavailableError } from "../../ports/store.ts";
import type { MigrationPlan } from "../migrations.ts";
import { SqliteAlerts } from "./documents/alerts.ts";
import { AuditRows, SqliteAudit } from "./documents/audit.ts";
import { GatewayAnswers, GatewayRequestRows, RequestsBySource } from "./documents/gateway-log.ts";
import { SqliteGateway } from "./documents/gateway.ts";
import { SqliteIdempotency } from "./documents/idempotency.ts";
import { NotificationRows, SqliteNotificationQueue } from "./documents/notification-queue.ts";
import { SqliteOperations } from "./documents/operations.ts";
import { SqlitePortal } from "./documents/portal.ts";
import { SqliteDeliveryProblems } from "./documents/problems.ts";
import { SqliteRegistry } from "./documents/registry.ts";
import { SqliteStatistics } from "./documents/statistics.ts";
import { HistoryRows, SqliteWebhooks } from "./documents/webhooks.ts";
import { Checkpointer } from "./driver/checkpointer.ts";
import { Connection, diskFull, diskSpace, isDiskFull, openDatabase } from "./driver/connection.ts";
import { refuseEmptied, storeError } from "./driver/errors.ts";
import { type OwnerLock, takeOwnerLock } from "./driver/owner-lock.ts";
import { SqliteDeliveries } from "./events/deliveries.ts";
import { SqliteHistory } from "./lists/history.ts";
import { migrate, migrations, planMigrations } from "./migrations.ts";
import { refuseMoved } from "./move/moving-rows.ts";
import { loadState } from "./state.ts";
import { SqliteUpkeep } from "./upkeep/upkeep.ts";

export interface SqliteStoreOptions {
  /** Created if it is missing. One process at a time owns it. */
  readonly dataDir: string;
  /** Unix milliseconds, recorded with migrations. */
  readonly now: number;
  readonly pid: number;
  /**
   * How long a write waits for an outside reader that blocks it, such as an operator's shell in a transaction. The wait
   * blocks the event loop, so it is short; the engine retries.
   */
  readonly busyTimeoutMs?: number;
  /** For the move itself: also opens a store that moved elsewhere, or into which a move is running. */
  readonly evenIfMoved?: boolean;
}

const busyTimeoutMsDefault = 250;

export function databaseFile(dataDir: string): string {
  return join(dataDir, "posthorn.db");
}

/**
 * Opens the embedded store: locks the folder, migrates the schema, and frees leases left by a crash. The cost does not
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

/** On a full disk SQLite reports only that it cannot create its working files. */
function openError(cause: unknown, dataDir: string): unknown {
  const error = storeError(cause);
  const isVague = error instanceof StoreUnavailableError && error.trouble === "away";
  return isVague && isDiskFull(dataDir) ? diskFull(cause) : error;
}

/** The migrations that opening the folder would run. Only reads, even while another process owns the folder. */
export function planStoreMigrations(options: { readonly dataDir: string }): MigrationPlan {
  const file = databaseFile(options.dataDir);
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
  const auditRows = new AuditRows(connection);
  const notificationRows = new NotificationRows(connection);
  const statistics = new SqliteStatistics(state);
  const problems = new SqliteDeliveryProblems(connection, auditRows);
  const history = new HistoryRows(connection);
  const requestsBySource = new RequestsBySource(connection);
  const requests = new GatewayRequestRows(connection, requestsBySource);
  const answers = new GatewayAnswers(connection);
  const rows = { problems: problems.writer, notifications: notificationRows, history, requests, answers };
  const deliveries = new SqliteDeliveries(state, { ...rows, statistics: statistics.writer });
  deliveries.recover();
  statistics.recoverAll();
  const probe = connection.prepare("SELECT 1");
  const facts = connection.prepare(
    "SELECT (SELECT max(number) FROM migrations), page_count * page_size FROM pragma_page_count(), pragma_page_size()",
  );
  return {
    deliveries,
    history: new SqliteHistory(state),
    webhooks: new SqliteWebhooks(state, { ...rows, audit: auditRows }),
    registry: new SqliteRegistry(connection, auditRows),
    idempotency: new SqliteIdempotency(connection),
    operations: new SqliteOperations(connection, auditRows),
    audit: new SqliteAudit(connection, auditRows),
    alerts: new SqliteAlerts(connection, auditRows),
    notifications: new SqliteNotificationQueue(connection, notificationRows, auditRows),
    portal: new SqlitePortal(connection, auditRows),
    gateway: new SqliteGateway(connection, auditRows, requests, requestsBySource, answers),
    statistics,
    problems,
    upkeep: new SqliteUpkeep(state, deliveries, notificationRows, statistics.writer),
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
