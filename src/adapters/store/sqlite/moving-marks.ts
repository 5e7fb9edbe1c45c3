import { DatabaseSync } from "node:sqlite";
import { type MovedTo, movedAway, movingHere } from "../moved-error.ts";
import { refuseEmptied, storeError } from "./errors.ts";

/** Throws StoreMovedError if the file must not be served from. */
export function refuseMoved(db: DatabaseSync, dataDir: string): void {
  const marks = db.prepare("SELECT key, value FROM meta WHERE key IN ('moved', 'moving')").all();
  for (const { key, value } of marks) {
    if (key === "moving") throw movingHere(dataDir);
    throw movedAway(dataDir, JSON.parse(String(value)) as MovedTo);
  }
}

/** Records where the contents moved to, or with null that the file is in service again. */
export function markMoved(file: string, to: MovedTo | null): void {
  refuseEmptied(file);
  const db = new DatabaseSync(file, { timeout: 5_000 });
  try {
    if (to === null) db.exec("DELETE FROM meta WHERE key = 'moved'");
    else db.prepare("INSERT OR REPLACE INTO meta VALUES ('moved', ?)").run(JSON.stringify(to));
  } catch (error) {
    throw storeError(error);
  } finally {
    db.close();
  }
}

/** Where the contents moved to; null if they are here. */
export function readMoved(file: string): MovedTo | null {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    const row = db.prepare("SELECT value FROM meta WHERE key = 'moved'").get();
    return row === undefined ? null : (JSON.parse(String(row["value"])) as MovedTo);
  } catch (error) {
    throw storeError(error);
  } finally {
    db.close();
  }
}
