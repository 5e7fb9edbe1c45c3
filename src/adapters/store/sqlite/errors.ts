import { StoreUnavailableError } from "../../../ports/store.ts";

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
    super(`${file} is not a Posthorn database`);
  }
}

/**
 * SQLite's primary result codes after which the engine may try again: the caller did nothing wrong, and the statement
 * or transaction left nothing behind.
 */
const unavailable: ReadonlyMap<number, string> = new Map([
  [5, "the database is locked by another process"],
  [6, "a table is locked"],
  [7, "out of memory"],
  [8, "the database cannot be written"],
  [10, "disk I/O error"],
  [13, "the disk is full"],
  [14, "the database file cannot be opened"],
  [15, "locking protocol failure"],
  [22, "the file system lacks a needed feature"],
]);

/** Turns what node:sqlite throws into the port's error; anything else is a bug and passes through. */
export function storeError(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  if (error.code === "ERR_INVALID_STATE")
    return new StoreUnavailableError("the store is closed", { cause: error });
  if (error.code !== "ERR_SQLITE_ERROR" || !("errcode" in error)) return error;
  const text = unavailable.get(Number(error.errcode) & 0xff);
  return text === undefined ? error : new StoreUnavailableError(text, { cause: error });
}
