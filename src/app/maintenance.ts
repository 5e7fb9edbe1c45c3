import { existsSync } from "node:fs";
import { backupSqliteStore } from "../store/sqlite/driver/backup.ts";
import { createSystemRandom } from "../system/random.ts";
import type { Settings } from "../config/options.ts";
import { dataFolderAt, prepareDataFolder } from "./data-folder.ts";
import { readMasterKeys, replaceLostDigestKey } from "./keys.ts";
import { openStore, type StoreSettings } from "./open-store.ts";

/** The planned or completed steps of a migration, and the version of the database before it. */
export interface MigrationReport {
  readonly from: number;
  readonly steps: readonly { readonly number: number; readonly name: string }[];
}

type MigrationSettings = StoreSettings & Pick<Settings, "dataDir" | "masterKey" | "masterKeyPrevious">;

/** PostgreSQL has separate backup tools, which the message names. */
class BackupElsewhereError extends Error {
  override readonly name = "BackupElsewhereError";
}

/** Read-only; works while a server is running. */
export async function planMigrations(
  settings: Pick<Settings, "dataDir" | "databaseUrl">,
): Promise<MigrationReport> {
  const plan = await planOf(settings);
  return { from: plan.from, steps: plan.pending.map(({ number, name }) => ({ number, name })) };
}

async function planOf({ databaseUrl: url, dataDir }: Pick<Settings, "dataDir" | "databaseUrl">) {
  if (url === null) {
    const { planStoreMigrations } = await import("../store/sqlite/open.ts");
    return planStoreMigrations(dataFolderAt(dataDir).path);
  }
  const { planPostgresMigrations } = await import("../store/postgres/open.ts");
  return planPostgresMigrations({ url });
}

/**
 * Migrates the database to the current version, as a server does at startup. No server may use the data folder during
 * the migration.
 */
export async function migrateStore(
  settings: MigrationSettings,
  newDigestKey = false,
): Promise<MigrationReport> {
  const report = await planMigrations(settings);
  const isEmbedded = settings.databaseUrl === null;
  const folder = isEmbedded ? prepareDataFolder(settings.dataDir).folder : dataFolderAt(settings.dataDir);
  const random = createSystemRandom();
  const masterKeys = () => readMasterKeys(settings, folder, random);
  const { store, digestKeyHolder: holder } = await openStore(settings, folder, masterKeys);
  try {
    if (newDigestKey) await replaceLostDigestKey(holder, masterKeys(), random);
  } finally {
    await store.close();
  }
  return report;
}

/**
 * Copies the database to a new file; works while a server is running. The copy contains no keys; the result names the
 * key files.
 */
export async function backupStore(
  settings: Pick<Settings, "dataDir" | "databaseUrl">,
  file: string,
): Promise<{ readonly keyFiles: readonly string[] }> {
  if (settings.databaseUrl !== null) {
    throw new BackupElsewhereError(
      "this command copies SQLite; back up PostgreSQL with its tools, such as pg_dump --schema=posthorn, or " +
        "continuous archiving, and store POSTHORN_MASTER_KEY separately from the copy",
    );
  }
  const folder = dataFolderAt(settings.dataDir);
  await backupSqliteStore(folder.path, file);
  return {
    keyFiles: [folder.masterKeyFile, folder.digestKeyFile, folder.adminKeyFile].filter((path) =>
      existsSync(path),
    ),
  };
}
