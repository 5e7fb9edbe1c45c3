import { statSync } from "node:fs";
import { StoreUnavailableError, type StoreTrouble } from "../../../ports/store.ts";

/** Another process owns the data folder. With two writers, each would rely on leases that the other cannot see. */
export class DataFolderInUseError extends Error {
  override readonly name = "DataFolderInUseError";
  readonly dataDir: string;
  readonly ownerPid: number | null;

  constructor(dataDir: string, pid: number | null) {
    super(`data folder ${dataDir} is in use by process ${pid ?? "(unknown)"}`);
    this.dataDir = dataDir;
    this.ownerPid = pid;
  }
}

/** The file is a database, but not a Posthorn database. */
export class ForeignDatabaseError extends Error {
  override readonly name = "ForeignDatabaseError";

  constructor(file: string) {
    super(`${file} is not a Posthorn database, or its first page is damaged`);
  }
}

/**
 * Throws EmptiedDatabaseError if the database file is empty, or missing while its WAL exists. Called before every
 * opening, because SQLite treats an empty file as a new database and deletes the WAL, which contains the last commits.
 */
export function refuseEmptied(file: string): void {
  const bytes = bytesOf(file);
  const walBytes = bytesOf(`${file}-wal`) ?? 0;
  if (bytes === null ? walBytes > 0 : bytes === 0)
    throw new EmptiedDatabaseError(file, bytes === 0, walBytes);
}

/** Null when the file does not exist. */
function bytesOf(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.size ?? null;
}

/** The file was emptied or removed. Nothing was opened, so the remaining files are unchanged. */
class EmptiedDatabaseError extends Error {
  override readonly name = "EmptiedDatabaseError";

  constructor(file: string, isThere: boolean, walBytes: number) {
    const what = isThere ? "is empty (0 bytes)" : "is missing";
    super(
      walBytes > 0
        ? `${file} ${what}, although ${file}-wal still holds ${walBytes} bytes of its last changes. Opening it would ` +
            "discard them: copy the folder first, then restore the file or a backup"
        : `${file} ${what}: it was emptied by something else, or a first start ended before it wrote anything. Restore a ` +
            "backup; if this is a new installation, delete the file",
    );
  }
}

/**
 * SQLite's primary result codes that are not the caller's fault. The engine may retry, or an operator has to act; the
 * statement or transaction had no effect.
 */
const unavailable: ReadonlyMap<number, readonly [text: string, trouble: StoreTrouble]> = new Map([
  [5, ["the database is locked by another process", "away"]],
  [6, ["a table is locked", "away"]],
  [7, ["out of memory", "away"]],
  [8, ["the database cannot be written", "away"]],
  [10, ["disk I/O error: the disk fails, or a quota is used up", "away"]],
  [11, ["the database is damaged", "damaged"]],
  [13, ["the disk is full", "disk_full"]],
  [14, ["the database file cannot be opened", "away"]],
  [15, ["locking protocol failure", "away"]],
  [22, ["the file system lacks a required feature", "away"]],
  [26, ["the database is damaged: its first page is not valid", "damaged"]],
]);

/** Converts errors of node:sqlite to the port's error; any other error is a bug and is not converted. */
export function storeError(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  if (error.code === "ERR_INVALID_STATE")
    return new StoreUnavailableError("the store is closed", { cause: error });
  if (error.code !== "ERR_SQLITE_ERROR" || !("errcode" in error)) return error;
  const found = unavailable.get(Number(error.errcode) & 0xff);
  if (found === undefined) return error;
  const [text, trouble] = found;
  return new StoreUnavailableError(text, { cause: error, trouble });
}
