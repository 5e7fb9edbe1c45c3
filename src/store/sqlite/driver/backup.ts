import { existsSync, renameSync, rmSync } from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { refuseEmptied, storeError } from "./errors.ts";
import { databaseFile } from "../open.ts";

/** More pages than a file can have, so that the copy takes a single step. */
const everyPage = 2 ** 31 - 1;

/**
 * Copies the store of a data folder into one file while its owner keeps working. Runs in any process, because it only
 * reads.
 *
 * The copy is one step on one snapshot: a backup in several steps restarts whenever another process writes, and would
 * never end under load. During the copy, the owner's WAL cannot shrink. The file appears under its name only when it is
 * complete.
 */
export async function backupSqliteStore(dataDir: string, file: string): Promise<void> {
  const source = databaseFile(dataDir);
  if (existsSync(file)) throw new StoreUnavailableError(`${file} already exists`);
  refuseEmptied(source);
  if (!existsSync(source)) throw new StoreUnavailableError(`${dataDir} does not contain a database`);
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  const db = new DatabaseSync(source, { readOnly: true, timeout: 5_000 });
  try {
    await backup(db, partial, { rate: everyPage });
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw storeError(error);
  } finally {
    db.close();
  }
}
