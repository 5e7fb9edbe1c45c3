import { accessSync, chmodSync, constants, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { codeOf, messageOf } from "../domain/thrown.ts";

/** This process's limit on open files and sockets; null if the system does not report one. */
export function openFilesMax(): number | null {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Paths of the data folder and of the key files that Posthorn keeps next to the database. */
export interface DataFolder {
  readonly path: string;
  readonly adminKeyFile: string;
  readonly masterKeyFile: string;
  readonly digestKeyFile: string;
}

/** The data folder is unusable; the message says why and what to do. */
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

/**
 * Creates the folder with access only for its owner. An existing folder keeps its mode, and a warning is logged if
 * other users can access it.
 */
export function prepareDataFolder(dataDir: string): {
  readonly folder: DataFolder;
  readonly warnings: readonly string[];
} {
  const folder = dataFolderAt(dataDir);
  try {
    const made = mkdirSync(folder.path, { recursive: true, mode: 0o700 });
    // The umask may have removed permissions but cannot have added any, so restore them.
    if (made !== undefined) chmodSync(folder.path, 0o700);
    requireAccess(folder.path);
    const mode = statSync(folder.path).mode & 0o777;
    if ((mode & 0o077) === 0) return { folder, warnings: [] };
    const warning = `${folder.path} is accessible to other users (mode ${mode.toString(8)}); run: chmod 700 ${folder.path}`;
    return { folder, warnings: [warning] };
  } catch (error) {
    if (error instanceof DataFolderError) throw error;
    throw new DataFolderError(`the data folder ${folder.path} cannot be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Checks the folder and the Posthorn files in it: if a container once ran as root, files may still belong to another
 * owner.
 */
function requireAccess(folder: string): void {
  require(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  for (const name of readdirSync(folder))
    if (name.startsWith("posthorn.db")) require(join(folder, name), constants.R_OK | constants.W_OK);
    else if (name.endsWith(".key")) require(join(folder, name), constants.R_OK);

  function require(path: string, mode: number): void {
    try {
      accessSync(path, mode);
    } catch {
      const { uid, gid, mode: bits } = statSync(path);
      const own = `${process.getuid?.() ?? "?"}:${process.getgid?.() ?? "?"}`;
      throw new DataFolderError(
        `the data folder ${folder} cannot be used: ${path} belongs to ${uid}:${gid} with mode ` +
          `${(bits & 0o777).toString(8)}, and this process runs as ${own}, which may not read and write it. ` +
          `Run: chown -R ${own} ${folder}, or set POSTHORN_DATA_DIR to another folder`,
      );
    }
  }
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "EACCES") return "permission denied";
  if (code === "EROFS") return "the file system is read-only";
  if (code === "EEXIST" || code === "ENOTDIR") return "it is a file, not a folder";
  return messageOf(error);
}
