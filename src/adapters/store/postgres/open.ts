import type pg from "pg";
import type { ConfigChange } from "../../../ports/store/config-changes.ts";
import { type Store, StoreUnavailableError } from "../../../ports/store.ts";
import type { MigrationPlan } from "../migrations.ts";
import { Announcer, type WorkLeftQueue } from "./announcer.ts";
import { announcedRegistry, announcedWebhooks, ConfigAnnouncer } from "./config-changes.ts";
import { Database } from "./database.ts";
import { PostgresDeliveries } from "./deliveries.ts";
import { checkMasterKey, type MasterKeyIds } from "./deployment.ts";
import { digestKeyRow, type DigestKeyRow } from "./digest-key-row.ts";
import { loadDriver, parseAddress } from "./driver.ts";
import { setupError } from "./errors.ts";
import { PostgresHistory } from "./history.ts";
import { PostgresIdempotency } from "./idempotency.ts";
import { migrate, planMigrations } from "./migrations.ts";
import { Notifications } from "./notifications.ts";
import { PostgresOperations } from "./operations.ts";
import { PostgresOwnership } from "./ownership.ts";
import { Partitions } from "./partitions.ts";
import { PostgresRegistry } from "./registry.ts";
import { judgeServer, readServerFacts } from "./server-check.ts";
import type { StoreState } from "./state.ts";
import { PostgresUpkeep } from "./upkeep.ts";
import { PostgresWebhooks } from "./webhooks.ts";
import { Lanes, Words } from "./words.ts";

export interface PostgresStoreOptions {
  /** `postgres://…`; may lead to a pooler in transaction mode. */
  readonly url: string;
  /**
   * Leads past the pooler, for notifications and migrations. The same as `url` when it is left out; null when there is
   * no way past it: then other processes' work is found by looking, and `changes` is absent.
   */
  readonly directUrl?: string | null;
  /** Unix milliseconds: noted with migrations, and the month for which attempts need a partition. */
  readonly now: number;
  readonly masterKeyIds: MasterKeyIds;
  /** All that this store holds at once: most of them for the path of events, one to listen. At least 3. */
  readonly connectionsMax?: number;
  /**
   * Named statements save a millisecond of planning a call, which matters for small batches only. Off, because poolers
   * in transaction mode may not know them, and because a plan that was made for an empty table stays for too long.
   */
  readonly preparedStatements?: boolean;
  /** How long opening may take to reach the server, and later a caller waits for a connection. */
  readonly connectTimeoutMs?: number;
  readonly statementTimeoutMs?: number;
  /** Carries to workers what notifications would; those are used while it does not. */
  readonly workQueue?: WorkLeftQueue;
  /** Is told of every change of the configuration by this process, after it was stored. Must not throw. */
  readonly configChanged?: (change: ConfigChange) => void;
}

const connectTimeoutMsDefault = 5_000;
/** Together with the above under ten seconds, so that whoever starts the program is told soon. */
const setupTimeoutMs = 4_000;
/** Publishers wait for these statements, so that a server which fell silent is noticed soon. */
const statementTimeoutMsDefault = 10_000;
/** Upkeep and listings may take longer. */
const patientTimeoutMsDefault = 30_000;
/** Enough for the few calls an engine makes at once, for people and upkeep, and one that listens. */
const connectionsMaxDefault = 12;
/** What one opening and its migration need. */
const connectionsForSetup = 1;

/** The store, with the key that its processes share and that is not part of the port. */
export interface PostgresStore extends Store {
  readonly digestKey: DigestKeyRow;
}

/**
 * Opens the store in a PostgreSQL database that several processes may share: checks the server, brings the schema up to
 * date and checks the master key. Its cost does not depend on how much is stored. Deliveries that a process held when
 * it died become free when their leases run out.
 *
 * Throws DatabaseSetupError (within the time to connect), SchemaTooNewError, MigrationMismatchError,
 * DifferentMasterKeyError, StoreUnavailableError.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const address = parseAddress(options.url);
  const driver = await loadDriver();
  const { now } = options;
  const direct = { ...options, url: options.directUrl ?? options.url };
  const pending = await withSetup(driver, direct, (database) => inspect(database, options));
  if (pending > 0) {
    const patient = { ...direct, statementTimeoutMs: 0 };
    await withSetup(driver, patient, (database) => migrate(database, { now }));
  }
  const shares = connectionShares(options.connectionsMax ?? connectionsMaxDefault);
  const database = newDatabase(driver, { ...options, connectionsMax: shares.events });
  const aside = newDatabase(driver, {
    ...{ statementTimeoutMs: patientTimeoutMsDefault, ...options },
    connectionsMax: shares.aside,
  });
  try {
    await checkMasterKey(database, options.masterKeyIds);
    return await assemble({ database, aside }, { driver, options });
  } catch (error) {
    await Promise.all([database.close(), aside.close()]);
    throw setupError(causeOf(error), address.at);
  }
}

/** What opening the database would migrate. Only reads, also while servers run. */
export async function planPostgresMigrations(
  options: Pick<PostgresStoreOptions, "url" | "connectTimeoutMs">,
): Promise<MigrationPlan> {
  return withSetup(await loadDriver(), options, async (database) => {
    judgeServer(await readServerFacts(database));
    return planMigrations(database);
  });
}

/** How many migrations are due in a database that may be used. A stranger must not bring the schema up to date. */
async function inspect(database: Database, { masterKeyIds }: PostgresStoreOptions): Promise<number> {
  judgeServer(await readServerFacts(database));
  const { from, pending } = await planMigrations(database);
  if (from > 0) await checkMasterKey(database, masterKeyIds);
  return pending.length;
}

/** Runs `work` with a connection of its own, and says what is wrong with the setting when it cannot. */
async function withSetup<Result>(
  driver: typeof pg,
  options: Pick<PostgresStoreOptions, "url" | "connectTimeoutMs" | "statementTimeoutMs">,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const { at } = parseAddress(options.url);
  const database = newDatabase(driver, {
    statementTimeoutMs: setupTimeoutMs,
    ...options,
    connectionsMax: connectionsForSetup,
  });
  try {
    return await work(database);
  } catch (error) {
    throw setupError(causeOf(error), at);
  } finally {
    await database.close();
  }
}

/** People and upkeep have connections of their own, so that a long listing delays no event. */
function connectionShares(connectionsMax: number): { readonly events: number; readonly aside: number } {
  const listening = 1;
  const aside = Math.max(1, Math.floor(connectionsMax / 4));
  return { aside, events: Math.max(1, connectionsMax - listening - aside) };
}

/** Opening has more to say than "unavailable". */
function causeOf(error: unknown): unknown {
  return error instanceof StoreUnavailableError && error.cause !== undefined ? error.cause : error;
}

function newDatabase(
  driver: typeof pg,
  options: Partial<PostgresStoreOptions> & { readonly url: string; readonly connectionsMax: number },
): Database {
  return new Database(driver, {
    url: options.url,
    connectionsMax: options.connectionsMax,
    connectTimeoutMs: options.connectTimeoutMs ?? connectTimeoutMsDefault,
    statementTimeoutMs: options.statementTimeoutMs ?? statementTimeoutMsDefault,
    preparedStatements: options.preparedStatements ?? false,
  });
}

async function assemble(
  { database, aside }: { readonly database: Database; readonly aside: Database },
  context: { readonly driver: typeof pg; readonly options: PostgresStoreOptions },
): Promise<PostgresStore> {
  const { driver, options } = context;
  const [row] = await database.rows<[owner: number]>("SELECT nextval('posthorn.owners')");
  const owner = row?.[0] ?? 0;
  const partitions = new Partitions(aside);
  await partitions.ensure(options.now).catch((error: unknown) => {
    // A backup may hold the table. Upkeep makes the partitions later, and nothing is lost until then.
    if (!(error instanceof StoreUnavailableError)) throw error;
  });
  const words = new Words(database);
  const lanes = new Lanes(database, words);
  const membership = { worker: null };
  const announcer = new Announcer({ database, lanes, owner, membership }, options.workQueue ?? null);
  const state: StoreState = { database, aside, words, lanes, owner, membership, announcer };
  const alsoTell = options.configChanged ?? (() => undefined);
  const config = new ConfigAnnouncer(database, { owner, alsoTell });
  const connectTimeoutMs = options.connectTimeoutMs ?? connectTimeoutMsDefault;
  const listening = { driver, owner, lanes, connectTimeoutMs };
  const changes =
    options.directUrl === null
      ? null
      : new Notifications({ ...listening, url: options.directUrl ?? options.url });
  return {
    deliveries: new PostgresDeliveries(state),
    history: new PostgresHistory(state),
    webhooks: announcedWebhooks(new PostgresWebhooks(database), config),
    registry: announcedRegistry(new PostgresRegistry(database), config),
    idempotency: new PostgresIdempotency(database),
    operations: new PostgresOperations(database),
    upkeep: new PostgresUpkeep(state, partitions),
    ownership: new PostgresOwnership(state, config),
    digestKey: digestKeyRow(database, parseAddress(options.url).at),
    ...(changes === null ? {} : { changes }),
    ping: async () => {
      await database.rows("SELECT 1");
    },
    close: async () => {
      await changes?.close();
      await announcer.close();
      await Promise.all([database.close(), aside.close()]);
    },
  };
}
