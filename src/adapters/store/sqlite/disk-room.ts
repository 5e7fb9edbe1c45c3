import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { type DiskSpace, StoreUnavailableError } from "../../../ports/store.ts";

/** Enough for some groups of commits. With less, small commits would be written and large ones refused alternately. */
const roomBytesMin = 4 << 20;
/** Copying the pages blocks the event loop, which is acceptable on a full disk. */
const shrinkEveryMs = 1_000;

/** Free space on the disk of the database. It is checked only after the disk was full, until there is space again. */
export class DiskRoom {
  readonly #folder: string | null;
  readonly #shrink: () => void;
  #wasFull = false;
  /** When the WAL was last emptied for lack of space (monotonic ms). */
  #shrunkAtMs = Number.NEGATIVE_INFINITY;

  /** `file` is null for a database in memory. `shrink` empties the WAL, or does nothing if that is impossible now. */
  constructor(file: string | null, shrink: () => void) {
    this.#folder = file === null ? null : dirname(file);
    this.#shrink = shrink;
  }

  /** A write failed because the disk was full. */
  ranOut(): void {
    this.#wasFull = true;
  }

  /** Throws while the disk is nearly full, after a write was refused for that reason. */
  check(): void {
    if (!this.#wasFull) return;
    if (this.#folder !== null && freeBytes(this.#folder) < roomBytesMin) {
      // The WAL may be many times larger than the database and would use up all freed space. Copying its pages needs
      // space only where the database grows.
      const nowMs = performance.now();
      if (nowMs - this.#shrunkAtMs < shrinkEveryMs) throw diskFull();
      this.#shrunkAtMs = nowMs;
      this.#shrink();
      if (freeBytes(this.#folder) < roomBytesMin) throw diskFull();
    }
    this.#wasFull = false;
  }
}

/** Whether no space is left. SQLite reports that only for writes; elsewhere it is a generic I/O error. */
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

/** Space available to this user. Without an answer assume plenty: a write will show. */
function freeBytes(folder: string): number {
  return diskSpace(folder)?.freeBytes ?? Number.POSITIVE_INFINITY;
}
