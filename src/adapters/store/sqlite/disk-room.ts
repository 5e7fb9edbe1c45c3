import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { type DiskSpace, StoreUnavailableError } from "../../../ports/store.ts";

/** Enough for some groups of commits: with less, small ones would be written and large ones refused by turns. */
const roomBytesMin = 4 << 20;
/** Copying the pages holds up the event loop, and on a full disk there is little else to do. */
const shrinkEveryMs = 1_000;

/** Space on the disk of the database, which matters from the moment when there was none until there is some again. */
export class DiskRoom {
  readonly #folder: string | null;
  readonly #shrink: () => void;
  #wasFull = false;
  /** When the WAL was last emptied for lack of space, on the monotonic clock of the process. */
  #shrunkAtMs = Number.NEGATIVE_INFINITY;

  /** `file` is null for a database in memory. `shrink` empties the WAL, or does nothing where that is not possible now. */
  constructor(file: string | null, shrink: () => void) {
    this.#folder = file === null ? null : dirname(file);
    this.#shrink = shrink;
  }

  /** A write met the end of the disk. */
  ranOut(): void {
    this.#wasFull = true;
  }

  /** Throws while the disk is as good as full since a write was refused for it. */
  check(): void {
    if (!this.#wasFull) return;
    if (this.#folder !== null && freeBytes(this.#folder) < roomBytesMin) {
      // The WAL may be many times the size of the database, and whatever is freed would go to it. Copying its pages needs
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

/** Whether there is no space at all. SQLite names that in writes alone; elsewhere it is an I/O error like any other. */
export function isDiskFull(folder: string): boolean {
  return freeBytes(folder) === 0;
}

export function diskFull(cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError("the disk is full", { trouble: "disk_full", cause });
}

/** Null where the system does not tell. */
export function diskSpace(folder: string): DiskSpace | null {
  try {
    const { bavail, bfree, blocks, bsize } = statfsSync(folder);
    // What is kept for the system's own user is no part of the disk for others.
    return { freeBytes: bavail * bsize, sizeBytes: (blocks - bfree + bavail) * bsize };
  } catch {
    return null;
  }
}

/** What this user may still write; without an answer, plenty: a write will tell. */
function freeBytes(folder: string): number {
  return diskSpace(folder)?.freeBytes ?? Number.POSITIVE_INFINITY;
}
