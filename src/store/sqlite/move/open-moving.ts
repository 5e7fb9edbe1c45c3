import type { DatabaseSync } from "node:sqlite";
import type { MoveTarget } from "../../../ports/store/moving.ts";
import { holdsSomething, movedParts, otherMoveInto, tellingTables } from "../../moved-parts.ts";
import { openDatabase } from "../driver/connection.ts";
import { storeError } from "../driver/errors.ts";
import { takeOwnerLock } from "../driver/owner-lock.ts";
import { planMigrations } from "../migrations.ts";
import { databaseFile, openSqliteStore, type SqliteStoreOptions } from "../open.ts";
import { storedPart } from "./moving-rows.ts";
import { SqliteMoveTarget } from "./moving-target.ts";

/**
 * Opens an empty data folder for a move, or one into which the same move has begun. No process can serve from it before
 * the move is finished. Throws the errors of opening a store, and StoreMovedError.
 */
export async function openSqliteMoveTarget(
  options: SqliteStoreOptions & { readonly source: string },
): Promise<MoveTarget> {
  // Creates the schema.
  await (await openSqliteStore({ ...options, evenIfMoved: true })).close();
  const lock = takeOwnerLock(options.dataDir, options.pid);
  try {
    const db = openDatabase(databaseFile(options.dataDir), 5_000, planMigrations);
    begin(db, options.dataDir, options.source);
    return new SqliteMoveTarget(db, () => lock.release());
  } catch (error) {
    lock.release();
    throw storeError(error);
  }
}

function begin(db: DatabaseSync, dataDir: string, source: string): void {
  const begun = db.prepare("SELECT value FROM meta WHERE key = 'moving'").get();
  if (begun !== undefined) {
    if (begun["value"] === source) return;
    throw otherMoveInto(dataDir, String(begun["value"]));
  }
  for (const table of tellingTables)
    if (db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined)
      throw holdsSomething(dataDir, table);
  db.exec("BEGIN IMMEDIATE");
  for (const part of movedParts) db.exec(`DELETE FROM ${storedPart(part).table.split(" ")[0]}`);
  db.exec("DELETE FROM meta");
  db.prepare("INSERT INTO meta VALUES ('moving', ?)").run(source);
  db.exec(`CREATE TABLE moving (part TEXT, number INTEGER, up_to TEXT NOT NULL, rows INTEGER NOT NULL,
    digest TEXT NOT NULL, fingerprint TEXT NOT NULL, PRIMARY KEY (part, number)) WITHOUT ROWID`);
  db.exec("COMMIT");
}
