import type { LookupFunction } from "node:net";
import type pg from "pg";
import { type Store, type StoreFacts, storeTroubles, StoreUnavailableError } from "../../ports/store.ts";
import type { ConfigChange } from "../../ports/store/changes.ts";
import { Audit } from "../documents/audit.ts";
import { documentStores } from "../documents/document-stores.ts";
import { Gateway } from "../documents/gateway.ts";
import { Portal } from "../documents/portal.ts";
import { Problems } from "../documents/problems.ts";
import { Registry } from "../documents/registry.ts";
import { Webhooks } from "../documents/webhooks.ts";
import type { MigrationPlan } from "../migrations.ts";
import { Notifications, type PendingLaneQueue } from "./cluster/announcer.ts";
import {
  ConfigAnnouncer,
  ConfigPolling,
  announcedGateway,
  announcedPortal,
  announcedRegistry,
  announcedWebhooks,
} from "./cluster/config-changes.ts";
import { PostgresOwnership } from "./cluster/ownership.ts";
import { PostgresRequestLog } from "./documents/gateway.ts";
import { PostgresIdempotency } from "./documents/idempotency.ts";
import { PostgresStatistics } from "./documents/statistics.ts";
import { answerMarginMs } from "./driver/connections.ts";
import { ControlConnection, UnansweredConnections } from "./driver/control-connection.ts";
import { Database } from "./driver/database.ts";
import {
  type DigestKeyRow,
  Incarnations,
  type MasterKeyIds,
  type ServerBounds,
  checkMasterKey,
  deploymentId,
  digestKeyRow,
  judgeServer,
  readServerFacts,
} from "./driver/server.ts";
import { type Address, loadDriver, parseAddress } from "./driver/driver.ts";
import { setupError, StandbyError } from "./driver/errors.ts";
import type { PreparedStatements } from "./driver/named-statements.ts";
import { PostgresSql } from "./driver/sql.ts";
import { PostgresDeliveries } from "./events/deliveries.ts";
import { IncarnateParts } from "./incarnate-parts.ts";
import { PostgresHistory } from "./lists/history.ts";
import { migrate, planMigrations } from "./migrations.ts";
import { refuseMoved } from "./move/moving-rows.ts";
import { PostgresUpkeep } from "./upkeep/upkeep.ts";

export interface PostgresStoreOptions {
  /** `postgres://…`; may lead to a pooler in transaction mode. */
  readonly url: string;
  /**
   * An address that bypasses the pooler, for notifications and migrations. Defaults to `url`. Null if no such address
   * exists: the process then polls for work, and once per second for configuration changes of other processes.
   */
  readonly directUrl?: string | null;
  /** Unix milliseconds. Recorded with migrations, and determines the month whose partition for attempts is needed. */
  readonly now: number;
  readonly masterKeyIds: MasterKeyIds;
  /** Maximum number of connections of this store: most of them for event processing, one to listen. At least 3. */
  readonly connectionsMax?: number;
  /** Whether statements for event processing are parsed and planned only once; defaults to `auto`. */
  readonly preparedStatements?: PreparedStatements;
  /** Time limit for connecting to the server when opening the store, and later for waiting for a connection. */
  readonly connectTimeoutMs?: number;
  readonly statementTimeoutMs?: number;
  /** Carries announcements to workers instead of notifications, which are used only while the queue is unavailable. */
  readonly workQueue?: PendingLaneQueue | undefined;
  /** For the move itself: also opens a store that was moved elsewhere, or that is the target of an unfinished move. */
  readonly evenIfMoved?: boolean;
  /** Called for every configuration change by this process, after the change was stored. Must not throw. */
  readonly configChanged?: ((change: ConfigChange) => void) | undefined;
  /** Resolves the server's name, in place of the system's resolver. */
  readonly lookup?: LookupFunction;
}

const connectTimeoutMsDefault = 5_000;
/**
 * Together with the connect timeout, this stays below ten seconds, so that the operator sees a failed start quickly.
 */
const setupTimeoutMs = 4_000;
/** Publishers wait for these statements, so an unresponsive server must be detected soon. */
const statementTimeoutMsDefault = 10_000;
/** Limits waits for locks, because a longer wait only delays other callers that need the connection. */
const lockTimeoutMsMax = 5_000;
/**
 * How often the connections of the maintenance pool are reopened, so that every process notices when the address leads
 * to another server.
 */
const maintenanceLifetimeMs = 8_000;
/** Time limit for upkeep and listings, which may take longer. */
const patientTimeoutMsDefault = 30_000;
/** Enough for the few concurrent calls of an engine, the maintenance pool, and one connection to listen. */
const connectionsMaxDefault = 12;
/** Number of connections needed for opening and migrating. */
const connectionsForSetup = 1;

/**
 * A process notices a replaced server when a connection breaks. If it has received no response for this long, `scope`
 * reports no server run, because a different one may have taken over.
 */
const incarnationMsMax = 5_000;

/** The store with the digest key, which its processes share and which is not part of the port. */
export interface PostgresStore extends Store {
  /** Identifies this store in data that is kept outside the store. */
  readonly scope: () => { readonly deployment: string; readonly incarnation: string | null };
  readonly digestKey: DigestKeyRow;
}

/**
 * Opens the store in a PostgreSQL database that several processes may share: checks the server, migrates the schema and
 * checks the master key. The cost does not depend on the amount of stored data. Deliveries leased by a process that died
 * become available when their leases expire.
 *
 * Throws DatabaseSetupError (within the connect timeout), DevelopmentSchemaError, SchemaTooNewError,
 * MigrationMismatchError, DifferentMasterKeyError, StoreMovedError, StoreUnavailableError.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { driver, address } = await preparePostgres(options);
  const parts = openParts(driver, options);
  try {
    if (options.evenIfMoved !== true) await refuseMoved(parts.database, address.at);
    await checkMasterKey(parts.database, options.masterKeyIds);
    return await assemble(parts, options);
  } catch (error) {
    await closeParts(parts);
    throw setupError(causeOf(error), address.at);
  }
}

/** Migrates the schema, unless the server or the database is not suitable. */
export async function preparePostgres(
  options: Pick<
    PostgresStoreOptions,
    "url" | "directUrl" | "now" | "masterKeyIds" | "connectTimeoutMs" | "lookup"
  >,
): Promise<{ readonly driver: typeof pg; readonly address: Address }> {
  const address = parseAddress(options.url);
  const driver = await loadDriver(options.lookup);
  const { now } = options;
  const direct = { ...options, url: options.directUrl ?? options.url };
  const pending = await withSetup(driver, direct, (database) => inspect(database, options));
  if (pending > 0) {
    const patient = { ...direct, statementTimeoutMs: 0 };
    await withSetup(driver, patient, (database) => migrate(database, now));
  }
  return { driver, address };
}

/** All connections of a store. */
interface StoreParts {
  readonly database: Database;
  readonly maintenance: Database;
  readonly control: ControlConnection;
  readonly unanswered: UnansweredConnections;
  readonly incarnations: Incarnations;
}

function openParts(driver: typeof pg, options: PostgresStoreOptions): StoreParts {
  const { url, connectionsMax = connectionsMaxDefault, preparedStatements = "auto" } = options;
  const { connectTimeoutMs = connectTimeoutMsDefault } = options;
  const shares = connectionShares(connectionsMax);
  const incarnations = new Incarnations();
  const directUrl = options.directUrl ?? url;
  const control = new ControlConnection({
    driver,
    connectTimeoutMs,
    url: directUrl,
    // A pooler and the direct address may lead to different servers.
    incarnations: directUrl === url ? incarnations : new Incarnations(),
  });
  const unanswered = new UnansweredConnections(control);
  const common = { url, connectTimeoutMs, incarnations, unanswered };
  const database = new Database(driver, {
    ...common,
    preparedStatements,
    bounds: boundsFor(options.statementTimeoutMs ?? statementTimeoutMsDefault),
    connectionsMax: shares.events,
  });
  const maintenance = new Database(driver, {
    ...common,
    // Interactive queries are rare, and a plan for one tenant may be unsuitable for another.
    preparedStatements: "off",
    bounds: boundsFor(options.statementTimeoutMs ?? patientTimeoutMsDefault),
    connectionsMax: shares.maintenance,
    lifetimeMs: maintenanceLifetimeMs,
  });
  return { database, maintenance, control, unanswered, incarnations };
}

async function closeParts({ database, maintenance, control, unanswered }: StoreParts): Promise<void> {
  unanswered.close();
  await control.close();
  await Promise.all([database.close(), maintenance.close()]);
}

/** The server-side limits for a caller that waits this long. */
function boundsFor(timeoutMs: number): ServerBounds | null {
  if (timeoutMs === 0) return null;
  const statementMs = Math.max(timeoutMs - answerMarginMs, timeoutMs / 2);
  return { statementMs, lockMs: Math.min(statementMs, lockTimeoutMsMax) };
}

/**
 * Returns the migrations that opening the database would run. Writes nothing, and can be called while servers are
 * running.
 */
export async function planPostgresMigrations(
  options: Pick<PostgresStoreOptions, "url" | "connectTimeoutMs">,
): Promise<MigrationPlan> {
  return withSetup(await loadDriver(), options, async (database) => {
    judgeServer(await readServerFacts(database));
    return planMigrations(database);
  });
}

/**
 * Returns the number of pending migrations. Checks first whether the database is suitable, because a process that may
 * not open a database must not migrate it.
 */
async function inspect(
  database: Database,
  { masterKeyIds }: Pick<PostgresStoreOptions, "masterKeyIds">,
): Promise<number> {
  judgeServer(await readServerFacts(database));
  const { from, pending } = await planMigrations(database);
  if (from > 0) await checkMasterKey(database, masterKeyIds);
  return pending.length;
}

/** Runs `work` with a separate connection. On failure, explains what is wrong with the setting. */
export async function withSetup<Result>(
  driver: typeof pg,
  options: Pick<PostgresStoreOptions, "url" | "connectTimeoutMs" | "statementTimeoutMs">,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const { at } = parseAddress(options.url);
  const database = new Database(driver, {
    url: options.url,
    connectionsMax: connectionsForSetup,
    connectTimeoutMs: options.connectTimeoutMs ?? connectTimeoutMsDefault,
    bounds: boundsFor(options.statementTimeoutMs ?? setupTimeoutMs),
    preparedStatements: "off",
    incarnations: new Incarnations(),
    unanswered: null,
  });
  try {
    return await work(database);
  } catch (error) {
    throw setupError(causeOf(error), at);
  } finally {
    await database.close();
  }
}

/** The maintenance pool has separate connections, so that a long listing does not delay events. */
function connectionShares(connectionsMax: number): { readonly events: number; readonly maintenance: number } {
  const listening = 1;
  const maintenance = Math.max(1, Math.floor(connectionsMax / 4));
  return { maintenance, events: Math.max(1, connectionsMax - listening - maintenance) };
}

/** During opening, the cause is more informative than "unavailable". */
function causeOf(error: unknown): unknown {
  return error instanceof StoreUnavailableError && error.cause !== undefined ? error.cause : error;
}

async function assemble(parts: StoreParts, options: PostgresStoreOptions): Promise<PostgresStore> {
  const { database, maintenance, control, unanswered, incarnations } = parts;
  const alsoNotify = options.configChanged ?? (() => undefined);
  const processNumber = (): number => incarnate.state.processNumber;
  const config = new ConfigAnnouncer(database, processNumber, alsoNotify);
  const incarnate = new IncarnateParts({
    database,
    maintenance,
    incarnations,
    config,
    workQueue: options.workQueue ?? null,
  });
  await incarnate.open(options.now);
  const numbers = () => incarnate.state;
  const deployment = await deploymentId(database);
  const sql = new PostgresSql(database);
  const maintenanceSql = new PostgresSql(maintenance);
  const changes =
    options.directUrl === null
      ? new ConfigPolling({ database, incarnations, processNumber })
      : new Notifications({ control, numbers, announcing: maintenance });
  return {
    deliveries: incarnate.follow("deliveries", PostgresDeliveries.prototype),
    history: incarnate.follow("history", PostgresHistory.prototype),
    webhooks: announcedWebhooks(new Webhooks(sql), config),
    registry: announcedRegistry(new Registry(sql), config),
    idempotency: new PostgresIdempotency(database),
    ...documentStores(sql),
    audit: new Audit(sql, maintenanceSql),
    portal: announcedPortal(new Portal(sql, maintenanceSql), config),
    gateway: announcedGateway(
      new Gateway(sql, maintenanceSql, new PostgresRequestLog(database, maintenance)),
      config,
    ),
    statistics: Object.assign(incarnate.follow("statistics", PostgresStatistics.prototype), {
      rowsPerCommitMax: 256,
    }),
    problems: new Problems(maintenanceSql),
    upkeep: incarnate.follow("upkeep", PostgresUpkeep.prototype),
    ownership: incarnate.follow("ownership", PostgresOwnership.prototype),
    digestKey: digestKeyRow(database, parseAddress(options.url).at),
    changes,
    scope: () => {
      const incarnation = incarnations.heardOfWithin(incarnationMsMax)?.identity ?? null;
      return { deployment, incarnation };
    },
    time: async () => {
      const [row] = await database.rows<[ms: number]>(
        "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
      );
      return row?.[0] ?? 0;
    },
    facts: () => readFacts(maintenance),
    watchRestarts: (listener) => incarnations.watch(listener),
    ping: () => ping({ database, unanswered }),
    close: async () => {
      await changes.close();
      await incarnate.close();
      await closeParts(parts);
    },
  };
}

async function readFacts(database: Database): Promise<StoreFacts> {
  const [row] = await database.rows<[schemaVersion: number, sizeBytes: number]>(
    "SELECT (SELECT max(number) FROM posthorn.migrations), pg_database_size(current_database())",
  );
  const [schemaVersion, sizeBytes] = row ?? [0, 0];
  return { schemaVersion, sizeBytes };
}

/** Checks whether the store is currently writable, without writing. */
async function ping({ database, unanswered }: Pick<StoreParts, "database" | "unanswered">): Promise<void> {
  if (unanswered.waitsForStandby)
    throw new StoreUnavailableError(storeTroubles.waits_for_standby, { trouble: "waits_for_standby" });
  const [row] = await database.rows<[isStandby: boolean, readOnly: string]>(
    "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')",
  );
  if (row?.[0] === true) throw new StandbyError();
  if (row?.[1] === "on") throw new StoreUnavailableError(storeTroubles.read_only, { trouble: "read_only" });
}
