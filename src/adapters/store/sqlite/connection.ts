import { existsSync, rmSync, statSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { DiskRoom } from "./disk-room.ts";
import { refuseEmptied, storeError } from "./errors.ts";

/**
 * Pages of the WAL after which a commit itself copies them into the database: 128 MiB with pages of 8 KiB. Normally the
 * thread of checkpointer.ts keeps it far below. The file can grow beyond while a backup or another reader holds an old
 * snapshot, and shrinks afterwards.
 */
const walPagesMax = 16_384;
/** The size to which a longer WAL is cut when it restarts: 32 MiB, twice its usual size under load. */
const walPagesKept = 4_096;
/**
 * Larger than SQLite's default of 4 KiB: bodies of about a kilobyte fill the pages better and cost fewer system calls.
 */
const pageSizeBytes = 8192;
const cacheKib = 65_536;

/**
 * The only connection of the store. Statements are prepared once and kept. Every read and write goes through `read` or
 * `write`, so that a refused statement leaves no open transaction, and no memory that differs from the file.
 */
export class Connection {
  readonly db: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #beginRead: StatementSync;
  readonly #commit: StatementSync;
  readonly #listeners: TransactionListener[] = [];
  readonly #room: DiskRoom;
  #damage: StoreUnavailableError | null = null;
  #closed = false;
  #stale = false;

  constructor(db: DatabaseSync) {
    this.db = db;
    const truncate = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#room = new DiskRoom(db.location(), () => {
      try {
        truncate.get();
      } catch {
        // Another connection is reading, so the database would have to grow; the next check tries again.
      }
    });
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#beginRead = db.prepare("BEGIN");
    this.#commit = db.prepare("COMMIT");
  }

  /** Prepares a statement that returns rows as arrays, which are cheaper than objects. */
  prepare(sql: string): StatementSync {
    const statement = this.db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Adds a listener whose in-memory data takes part in the file's transactions. */
  join(listener: TransactionListener): void {
    this.#listeners.push(listener);
  }

  /** Runs `work` in one durable transaction: all of it is applied, or nothing, in the file and in memory. */
  write<Result>(work: () => Result): Result {
    this.checkWritable();
    let result: Result;
    try {
      this.#begin.run();
      result = work();
      for (const listener of this.#listeners) listener.beforeCommit?.();
      this.#commit.run();
    } catch (error) {
      this.#rollBack();
      throw this.#noted(error);
    }
    for (const listener of this.#listeners) listener.afterCommit?.();
    return result;
  }

  /** Runs `work` on one snapshot; one lock for all its statements instead of one each. */
  read<Result>(work: () => Result): Result {
    this.#ready();
    try {
      this.#beginRead.run();
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      this.#endTransaction();
      throw this.#noted(error);
    }
  }

  /** Like `read`, for a single statement, which is its own snapshot. */
  readOne<Result>(work: () => Result): Result {
    this.#ready();
    try {
      return work();
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /**
   * Throws after damage was found in any read or write: later writes may be lost with the rest, or make it worse. Reads
   * are still tried, so that users see what is there.
   */
  check(): void {
    if (this.#damage !== null) throw this.#damage;
  }

  /** Throws if a write would certainly be refused. */
  checkWritable(): void {
    this.#ready();
    this.check();
    this.#room.check();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.db.close();
  }

  #ready(): void {
    if (this.#closed) throw new StoreUnavailableError("the store is closed");
    if (!this.#stale) return;
    try {
      for (const listener of this.#listeners) listener.reload?.();
    } catch (error) {
      throw this.#noted(error);
    }
    this.#stale = false;
  }

  #noted(cause: unknown): unknown {
    const error = storeError(cause);
    if (!(error instanceof StoreUnavailableError)) return error;
    if (error.trouble === "damaged") this.#damage ??= error;
    if (error.trouble === "disk_full") this.#room.ranOut();
    return error;
  }

  #rollBack(): void {
    this.#endTransaction();
    for (const listener of this.#listeners) listener.afterRollback?.();
    // Reading the file again may fail for the same reason as the write did, so it is left to the next call.
    this.#stale = true;
  }

  #endTransaction(): void {
    // On a full disk, SQLite has already rolled back.
    if (!this.db.isOpen || !this.db.isTransaction) return;
    try {
      this.db.exec("ROLLBACK");
    } catch {
      // The original error is more informative. If the transaction is still open, the next one is refused.
    }
  }
}

export interface TransactionListener {
  /** Writes data that was accumulated in memory. */
  readonly beforeCommit?: () => void;
  /** Must not throw: the transaction is committed, so the call has succeeded. */
  readonly afterCommit?: () => void;
  /** Undoes changes that cannot be read from the file again. Must not throw. */
  readonly afterRollback?: () => void;
  /** Drops the cache and reads it again. */
  readonly reload?: () => void;
}

/** Opens the file with the settings that the port's promises require. */
export function openDatabase(
  file: string,
  busyTimeoutMs: number,
  /** Called before anything is changed; throws when the file must not be touched. */ inspect: (
    db: DatabaseSync,
  ) => void,
): DatabaseSync {
  refuseEmptied(file);
  const isNew = !existsSync(file);
  const db = new DatabaseSync(file, {
    timeout: busyTimeoutMs,
    // Each table is written in one place, and the steps that remove history would violate foreign keys.
    enableForeignKeyConstraints: false,
  });
  try {
    inspect(db);
    db.exec(`PRAGMA page_size = ${pageSizeBytes}`);
    db.exec("PRAGMA journal_mode = WAL");
    // FULL, not NORMAL: an answered publish must survive a power failure.
    db.exec("PRAGMA synchronous = FULL");
    db.exec(`PRAGMA wal_autocheckpoint = ${walPagesMax}`);
    db.exec(`PRAGMA journal_size_limit = ${walPagesKept * pageSizeBytes}`);
    db.exec(`PRAGMA cache_size = -${cacheKib}`);
    db.exec("PRAGMA temp_store = MEMORY");
    // An I/O error behind a memory map kills the process instead of failing a call.
    db.exec("PRAGMA mmap_size = 0");
    return db;
  } catch (error) {
    db.close();
    // On a full disk, a first start leaves an empty file, which the next one would mistake for damage.
    if (isNew && statSync(file, { throwIfNoEntry: false })?.size === 0) rmSync(file);
    throw storeError(error);
  }
}
