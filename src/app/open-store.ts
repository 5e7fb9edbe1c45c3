import type { PostgresStoreOptions } from "../store/postgres/open.ts";
import { systemClock } from "../system/clock.ts";
import { infrastructureLookup } from "../system/host-names.ts";
import { createDigestKeyFile, type DigestKeyHolder } from "../system/keys/key-file.ts";
import { masterKeyId } from "../system/keys/secret-box.ts";
import type { Settings } from "../config/options.ts";
import type { Store } from "../ports/store.ts";
import type { DataFolder } from "./data-folder.ts";
import type { MasterKeys } from "./keys.ts";
import { type Companions, storeHooks } from "./open-companions.ts";

export type StoreSettings = Pick<
  Settings,
  "databaseUrl" | "databaseDirectUrl" | "databaseConnections" | "databasePreparedStatements"
>;

/** The configured store, and its digest key, which is stored with it for all processes that share it. */
export interface OpenedStore {
  readonly store: Store;
  readonly digestKeyHolder: DigestKeyHolder;
}

/** PostgreSQL if there is a URL, otherwise SQLite in the data folder. Only the selected adapter is loaded. */
export async function openStore(
  settings: StoreSettings,
  folder: DataFolder,
  masterKeys: () => MasterKeys,
  /** Used with PostgreSQL only. */ companions?: Companions,
): Promise<OpenedStore> {
  const { databaseUrl } = settings;
  const now = systemClock.now();
  if (databaseUrl === null) {
    const { openSqliteStore } = await import("../store/sqlite/open.ts");
    const store = await openSqliteStore({ dataDir: folder.path, now, pid: process.pid });
    return { store, digestKeyHolder: createDigestKeyFile(folder.digestKeyFile) };
  }
  const { openPostgresStore } = await import("../store/postgres/open.ts");
  const { current, previous } = masterKeys();
  const masterKeyIds = { current: masterKeyId(current), previous: previous.map(masterKeyId) };
  const direct = directUrlOf(settings);
  const store = await openPostgresStore({
    url: databaseUrl,
    now,
    masterKeyIds,
    connectTimeoutMs,
    connectionsMax: settings.databaseConnections,
    ...direct,
    preparedStatements: settings.databasePreparedStatements,
    lookup: infrastructureLookup,
    ...(companions === undefined ? {} : storeHooks(companions)),
  });
  companions?.sharedState?.serve(store.scope);
  return { store, digestKeyHolder: store.digestKey };
}

/** Ensures that a failing startup ends within ten seconds. */
const connectTimeoutMs = 6_000;

/** Empty if no direct URL is configured. */
function directUrlOf({
  databaseDirectUrl,
}: Pick<Settings, "databaseDirectUrl">): Pick<PostgresStoreOptions, "directUrl"> {
  if (databaseDirectUrl === null) return {};
  return { directUrl: databaseDirectUrl === "none" ? null : databaseDirectUrl };
}
