import { StoreUnavailableError, type StoreTrouble } from "../../../ports/store.ts";

/** Another process owns the data folder. Two writers would each believe in leases the other does not know. */
export class DataFolderInUseError extends Error {
  override readonly name = "DataFolderInUseError";
  readonly dataDir: string;
  readonly ownerPid: number | null;

  constructor(owner: { readonly dataDir: string; readonly pid: number | null }) {
    super(`data folder ${owner.dataDir} is in use by process ${owner.pid ?? "(unknown)"}`);
    this.dataDir = owner.dataDir;
    this.ownerPid = owner.pid;
  }
}

/** The file is a database, but not one of Posthorn's. */
export class ForeignDatabaseError extends Error {
  override readonly name = "ForeignDatabaseError";

  constructor(file: string) {
    super(`${file} is not a Posthorn database, or its first page is damaged`);
  }
}

/**
 * SQLite's primary result codes after which the engine may try again, or nobody may: the caller did nothing wrong, and
 * the statement or transaction left nothing behind.
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
  [22, ["the file system lacks a needed feature", "away"]],
  [26, ["the database is damaged: its first page is not one", "damaged"]],
]);

/** Turns what node:sqlite throws into the port's error; anything else is a bug and passes through. */
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
