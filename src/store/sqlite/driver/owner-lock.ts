import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DataFolderInUseError } from "./errors.ts";

/** Proof that no other process owns a data folder. */
export interface OwnerLock {
  /** Safe to call twice. */
  release(): void;
}

const busy = 5;

/**
 * Holds an exclusive SQLite transaction on `owner.lock`, an empty database next to the real one. The kernel drops the
 * lock when the process ends, even after kill -9, so no stale lock remains.
 *
 * Never open `owner.lock` by other means in this process: closing any descriptor of a file drops POSIX locks on it.
 * That is why the pid is in a separate file.
 */
export function takeOwnerLock(dataDir: string, pid: number): OwnerLock {
  const pidFile = join(dataDir, "owner.pid");
  const lock = new DatabaseSync(lockFile(dataDir), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new DataFolderInUseError(dataDir, readPid(pidFile));
  }
  writePid(pidFile, pid);
  return {
    release: () => {
      if (lock.isOpen) lock.close();
    },
  };
}

/** Whether a process currently owns the folder. Does not change any file in it. */
export function isOwned(dataDir: string): boolean {
  if (!existsSync(lockFile(dataDir))) return false;
  const lock = new DatabaseSync(lockFile(dataDir), { readOnly: true, timeout: 0 });
  try {
    lock.prepare("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return true;
  } finally {
    lock.close();
  }
}

function lockFile(dataDir: string): string {
  return join(dataDir, "owner.lock");
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === busy;
}

/** The pid is only a hint, so a full disk is not a reason to fail here. */
function writePid(file: string, pid: number): void {
  try {
    writeFileSync(file, `${pid}\n`);
  } catch {
    // Later writes will report the disk problem.
  }
}

/** The owner writes the pid right after locking, so it can be missing or outdated for an instant. It is only a hint. */
function readPid(file: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(file, "utf8"), 10);
    return Number.isNaN(pid) ? null : pid;
  } catch {
    return null;
  }
}
