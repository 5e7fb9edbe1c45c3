import { chmodSync, mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { codeOf, messageOf } from "../core/thrown.ts";

/** The files that Posthorn keeps beside the database. */
export interface DataFolder {
  readonly path: string;
  readonly adminKeyFile: string;
  readonly masterKeyFile: string;
  readonly digestKeyFile: string;
}

/** The folder cannot serve; the message says why and what to do. */
class DataFolderError extends Error {
  override readonly name = "DataFolderError";
}

export function dataFolderAt(dataDir: string): DataFolder {
  const path = resolve(dataDir);
  return {
    path,
    adminKeyFile: join(path, "admin.key"),
    masterKeyFile: join(path, "master.key"),
    digestKeyFile: join(path, "digest.key"),
  };
}

/** Makes the folder for its owner alone. One that exists keeps its mode, and a warning says so when others may look in. */
export function prepareDataFolder(dataDir: string): {
  readonly folder: DataFolder;
  readonly warnings: readonly string[];
} {
  const folder = dataFolderAt(dataDir);
  try {
    const made = mkdirSync(folder.path, { recursive: true, mode: 0o700 });
    // The umask may have taken bits away, but can never have added any; this is for parents made on the way.
    if (made !== undefined) chmodSync(folder.path, 0o700);
    const mode = statSync(folder.path).mode & 0o777;
    if ((mode & 0o077) === 0) return { folder, warnings: [] };
    const warning = `${folder.path} can be entered by other users (mode ${mode.toString(8)}); run: chmod 700 ${folder.path}`;
    return { folder, warnings: [warning] };
  } catch (error) {
    throw new DataFolderError(`the data folder ${folder.path} cannot be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "EACCES") return "permission denied";
  if (code === "EROFS") return "the file system is read-only";
  if (code === "EEXIST" || code === "ENOTDIR") return "it is a file, not a folder";
  return messageOf(error);
}
