import { existsSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type DiskSpace, StoreUnavailableError } from "../../../ports/store.ts";
import { refuseEmptied, storeError } from "./errors.ts";

/**
 * Minimum free space, enough for a few groups of commits. With a lower value, small commits would be written and large
 * ones rejected alternately.
 */
const roomBytesMin = 4 << 20;
/**
 * Minimum interval between two attempts to empty the WAL. Copying its pages blocks the event loop, which is acceptable
 * on a full disk.
 */
const shrinkEveryMs = 1_000;

/**
 * Checks the available space on the disk of the database. The check runs only after the disk was full, until there is
 * space again.
 */
class DiskRoom {
  readonly #folder: string | null;
  readonly #shrink: () => void;
  #wasFull = false;
  /** When the WAL was last emptied for lack of space (monotonic ms). */
  #shrunkAtMs = Number.NEGATIVE_INFINITY;

  /**
   * `file` is null for an in-memory database. `shrink` empties the WAL, or does nothing if that is currently
   * impossible.
   */
  constructor(file: string | null, shrink: () => void) {
    this.#folder = file === null ? null : dirname(file);
    this.#shrink = shrink;
  }

  /** Records that a write failed because the disk was full. */
  ranOut(): void {
    this.#wasFull = true;
  }

  /** Throws while the disk is nearly full, after a write was refused for that reason. */
  check(): void {
    if (!this.#wasFull) return;
    if (this.#folder !== null && freeBytes(this.#folder) < roomBytesMin) {
      // The WAL may be many times larger than the database and would use up all space that becomes available. Copying
      // its pages needs space only if the database grows.
      const nowMs = performance.now();
      if (nowMs - this.#shrunkAtMs < shrinkEveryMs) throw diskFull();
      this.#shrunkAtMs = nowMs;
      this.#shrink();
      if (freeBytes(this.#folder) < roomBytesMin) throw diskFull();
    }
    this.#wasFull = false;
  }
}

/** Whether the disk is full. SQLite reports that only for writes; other operations report a generic I/O error. */
export function isDiskFull(folder: string): boolean {
  return freeBytes(folder) === 0;
}

export function diskFull(cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError("the disk is full", { trouble: "disk_full", cause });
}

/** Null if the system does not report it. */
export function diskSpace(folder: string): DiskSpace | null {
  try {
    const { bavail, bfree, blocks, bsize } = statfsSync(folder);
    // Space reserved for the superuser does not count as part of the disk.
    return { freeBytes: bavail * bsize, sizeBytes: (blocks - bfree + bavail) * bsize };
  } catch {
    return null;
  }
}

/**
 * Space available to this user. If it cannot be determined, assume that there is plenty, because a write to a full disk
 * fails in any case.
 */
function freeBytes(folder: string): number {
  return diskSpace(folder)?.freeBytes ?? Number.POSITIVE_INFINITY;
}

/**
 * Prepares each statement on first use and caches it by its SQL. The cache is unbounded, so use it only for a small
 * number of distinct statements.
 */
export class StatementCache {
  readonly #connection: { prepare(sql: string): StatementSync };
  readonly #statements = new Map<string, StatementSync>();

  constructor(connection: { prepare(sql: string): StatementSync }) {
    this.#connection = connection;
  }

  get(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/**
 * Number of pages of the WAL after which a commit itself copies them into the database: 128 MiB with pages of 8 KiB.
 * Normally, the thread of checkpointer.ts keeps the WAL far below this. The file can grow larger while a backup or
 * another reader holds an old snapshot, and shrinks afterwards.
 */
const walPagesMax = 16_384;
/** The size to which a larger WAL is truncated when it restarts: 32 MiB, twice its usual size under load. */
const walPagesKept = 4_096;
/**
 * Larger than SQLite's default of 4 KiB, because bodies of about one kilobyte fill these pages better and cost fewer
 * system calls.
 */
const pageSizeBytes = 8192;
const cacheKib = 65_536;

/**
 * The only connection of the store. Statements are prepared once and cached. Every read and write goes through `read`
 * or `write`, so that a rejected statement leaves no open transaction, and the data in memory never differs from the
 * file.
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
        // Another connection is reading, so the database would have to grow; the next check retries.
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

  /** Runs `work` in one durable transaction: either all changes are applied or none, in the file and in memory. */
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

  /** Runs `work` on one snapshot. This takes one lock for all of its statements instead of one for each. */
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

  /** Like `read`, but for a single statement, which needs no transaction for its snapshot. */
  readOne<Result>(work: () => Result): Result {
    this.#ready();
    try {
      return work();
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /**
   * Throws if damage was found in any read or write, because later writes may be lost with the rest, or increase the
   * damage. Reads are still attempted, so that users can see the remaining data.
   */
  check(): void {
    if (this.#damage !== null) throw this.#damage;
  }

  /** Throws if a write is certain to be rejected. */
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
    // Reading the file again now may fail for the same reason as the write, so the next call reads it.
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
  /** Must not throw, because the transaction is already committed and the call has succeeded. */
  readonly afterCommit?: () => void;
  /** Undoes changes that cannot be read from the file again. Must not throw. */
  readonly afterRollback?: () => void;
  /** Drops the cached data and reads it again. */
  readonly reload?: () => void;
}

/** Opens the file with the settings that the guarantees of the port require. */
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
    // Foreign keys are not enforced: each table is written in one place, and the steps that remove history would
    // violate them.
    enableForeignKeyConstraints: false,
  });
  try {
    inspect(db);
    db.exec(`PRAGMA page_size = ${pageSizeBytes}`);
    db.exec("PRAGMA journal_mode = WAL");
    // FULL instead of NORMAL, because an acknowledged publish must survive a power failure.
    db.exec("PRAGMA synchronous = FULL");
    db.exec(`PRAGMA wal_autocheckpoint = ${walPagesMax}`);
    db.exec(`PRAGMA journal_size_limit = ${walPagesKept * pageSizeBytes}`);
    db.exec(`PRAGMA cache_size = -${cacheKib}`);
    db.exec("PRAGMA temp_store = MEMORY");
    // With a memory map, an I/O error would kill the process instead of failing a call.
    db.exec("PRAGMA mmap_size = 0");
    return db;
  } catch (error) {
    db.close();
    // On a full disk, a first start leaves an empty file, which the next start would mistake for damage.
    if (isNew && statSync(file, { throwIfNoEntry: false })?.size === 0) rmSync(file);
    throw storeError(error);
  }
}
