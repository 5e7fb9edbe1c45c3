import { existsSync } from "node:fs";
import { backupSqliteStore } from "../adapters/store/sqlite/backup.ts";
import { openSqliteStore, planStoreMigrations } from "../adapters/store/sqlite/open.ts";
import { systemClock } from "../adapters/system/clock.ts";
import type { Settings } from "../config/options.ts";
import { dataFolderAt, prepareDataFolder } from "./data-folder.ts";

/** What a migration would do or did: the version of the database, and the steps. */
export interface MigrationReport {
  readonly from: number;
  readonly steps: readonly { readonly number: number; readonly name: string }[];
}

/** Looks without changing anything, also while a server runs. */
export function planMigrations(settings: Pick<Settings, "dataDir">): MigrationReport {
  const { from, pending } = planStoreMigrations({ dataDir: dataFolderAt(settings.dataDir).path });
  return { from, steps: pending.map(({ number, name }) => ({ number, name })) };
}

/** Brings the database up to date, which starting does as well. No server may run on the folder. */
export async function migrateStore(settings: Pick<Settings, "dataDir">): Promise<MigrationReport> {
  const { folder } = prepareDataFolder(settings.dataDir);
  const report = planMigrations(settings);
  const store = await openSqliteStore({ dataDir: folder.path, now: systemClock.now(), pid: process.pid });
  await store.close();
  return report;
}

/** Copies the database into a new file, also while a server runs. Keys are not in it; they are named in the answer. */
export async function backupStore(
  settings: Pick<Settings, "dataDir">,
  file: string,
): Promise<{ readonly keyFiles: readonly string[] }> {
  const folder = dataFolderAt(settings.dataDir);
  await backupSqliteStore({ dataDir: folder.path, file });
  return {
    keyFiles: [folder.masterKeyFile, folder.digestKeyFile, folder.adminKeyFile].filter((path) =>
      existsSync(path),
    ),
  };
}
