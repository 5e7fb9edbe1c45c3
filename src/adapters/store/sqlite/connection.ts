import { existsSync, rmSync, statSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { DiskRoom } from "./disk-room.ts";
import { refuseEmptied, storeError } from "./errors.ts";

/**
 * Pages of the WAL after which a commit itself copies them into the database: 128 MiB with pages of 8 KiB. Normally the
 * thread of checkpointer.ts keeps it far below. The file can grow beyond while a backup or another reader holds an old
 * snapshot, and shrinks back to it afterwards.
 */
const walPagesMax = 16_384;
/** What a WAL that grew longer is cut to when it begins again: 32 MiB, twice of what it has under load. */
const walPagesKept = 4_096;
/** Larger than SQLite's 4 KiB: bodies of about a kilobyte fill the pages better and cost fewer system calls. */
const pageSizeBytes = 8192;
const cacheKib = 65_536;

/**
 * The one connection of the store. Statements are prepared once and kept; every read and write goes through `read` or
 * `write`, so that a refused statement leaves neither an open transaction nor memory that disagrees with the file.
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
        // Another connection reads, or the database would have to grow: the next look tries again.
      }
    });
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#beginRead = db.prepare("BEGIN");
    this.#commit = db.prepare("COMMIT");
  }

  /** A statement whose rows come as arrays, which is cheaper than objects. */
  prepare(sql: string): StatementSync {
    const statement = this.db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Whatever is kept in memory about the file takes part in its transactions. */
  join(listener: TransactionListener): void {
    this.#listeners.push(listener);
  }

  /** Runs `work` in one durable transaction: everything of it happens, or nothing, in the file and in memory. */
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

  /** As `read`, of one statement alone, which is its own snapshot. */
  readOne<Result>(work: () => Result): Result {
    this.#ready();
    try {
      return work();
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /**
   * Throws once damage was met, in any read or write: what is written after it may be lost with the rest, or make it
   * worse. Reads are still tried, so that people see what there is.
   */
  check(): void {
    if (this.#damage !== null) throw this.#damage;
  }

  /** Throws where a write would be refused without being tried. */
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
    // Reading the file again may fail for the same reason as the write did, so it waits for the next call.
    this.#stale = true;
  }

  #endTransaction(): void {
    // A full disk makes SQLite roll back by itself.
    if (!this.db.isOpen || !this.db.isTransaction) return;
    try {
      this.db.exec("ROLLBACK");
    } catch {
      // The error that led here says more; if the transaction is still open, the next one is refused.
    }
  }
}

export interface TransactionListener {
  /** Writes what was accumulated in memory. */
  readonly beforeCommit?: () => void;
  /** Must not throw: the transaction is written, and whoever asked for it must hear so. */
  readonly afterCommit?: () => void;
  /** Undoes changes that no reading of the file can restore. Must not throw. */
  readonly afterRollback?: () => void;
  /** Forgets what was cached and reads it again. */
  readonly reload?: () => void;
}

export interface DatabaseOptions {
  readonly file: string;
  readonly busyTimeoutMs: number;
  /** Called before anything is changed; throws when the file must be left alone. */
  readonly inspect: (db: DatabaseSync) => void;
}

/** Opens the file with the settings that the promises of the port rest on. */
export function openDatabase(options: DatabaseOptions): DatabaseSync {
  refuseEmptied(options.file);
  const isNew = !existsSync(options.file);
  const db = new DatabaseSync(options.file, {
    timeout: options.busyTimeoutMs,
    // Rows are written in one place each, and history is removed in steps that would trip over foreign keys.
    enableForeignKeyConstraints: false,
  });
  try {
    options.inspect(db);
    db.exec(`PRAGMA page_size = ${pageSizeBytes}`);
    db.exec("PRAGMA journal_mode = WAL");
    // FULL, not NORMAL: an answered publish must survive a power cut.
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
    // On a full disk a first start leaves an empty file, which the next one would take for damage.
    if (isNew && statSync(options.file, { throwIfNoEntry: false })?.size === 0) rmSync(options.file);
    throw storeError(error);
  }
}
