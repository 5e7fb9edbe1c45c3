import { codeOf } from "../domain/thrown.ts";

/** Failures of commands. Only their message is printed to standard error, without a stack. */

export const exitStatus = { done: 0, failed: 1, usage: 2 } as const;

/** A valid command that failed. */
export class CommandFailure extends Error {
  override readonly name: string = "CommandFailure";
  /** Additional lines below the message. */
  readonly hints: readonly string[];

  constructor(message: string, hints: readonly string[] = []) {
    super(message);
    this.hints = hints;
  }

  get status(): number {
    return exitStatus.failed;
  }
}

/** The server returned an error with this API code. */
export class RefusedError extends CommandFailure {
  override readonly name = "RefusedError";
  readonly code: string;

  constructor(message: string, code: string, hints: readonly string[]) {
    super(message, hints);
    this.code = code;
  }
}

/** Invalid arguments or options. */
export class UsageError extends CommandFailure {
  override readonly name = "UsageError";

  override get status(): number {
    return exitStatus.usage;
  }
}

/** Hints for startup errors. Keyed by error name, because the error classes belong to adapters. */
const advice: Readonly<Record<string, readonly string[]>> = {
  DataFolderInUseError: ["Another server is using this folder. Stop it, or use another folder: --data-dir."],
  DataFolderError: [],
  DevelopmentSchemaError: [
    "Use another folder: --data-dir. In PostgreSQL, use another database, or remove the data: DROP SCHEMA posthorn CASCADE.",
  ],
  SchemaTooNewError: [],
  MigrationMismatchError: ["Restore the database from a backup, or use the version that created it."],
  ForeignDatabaseError: [
    "Use another folder: --data-dir. To restore a backup, see docs/operations.md, Backup and restore.",
  ],
  EmptiedDatabaseError: ["See docs/operations.md, Backup and restore."],
  KeyFileError: [],
  KeySettingError: [],
  DatabaseSetupError: [],
  WorkQueueSetupError: [],
  DifferentMasterKeyError: [],
  SharedStateSetupError: [],
  StoreMovedError: [],
  MoveRefusedError: [],
  MoveMismatchError: [],
};

/** Converts a startup error to a readable failure. Unknown errors are returned unchanged, with their stack. */
export function startFailure(error: unknown, doing = "cannot start"): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === "BackupElsewhereError") return new CommandFailure(error.message);
  const code = codeOf(error);
  if (code === "EADDRINUSE") return portTaken(error);
  if (code === "EACCES" && "port" in error) {
    return new CommandFailure(`port ${String(error.port)} requires more privileges`, [
      "Use a port of 1024 or higher: --port.",
    ]);
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new CommandFailure(`cannot listen on this host: ${error.message}`, [
      "Use --host 127.0.0.1, or 0.0.0.0 for all addresses.",
    ]);
  }
  const refused = refusals[code ?? ""];
  if (refused !== undefined && "path" in error) {
    const hint =
      code === "ENOSPC" ? spaceHint : "Make it writable for this user, or use another folder: --data-dir.";
    return new CommandFailure(`${doing}: ${String(error.path)}: ${refused}`, [hint]);
  }
  // A running server resumes when disk space is available again. A failed start has to be repeated.
  if ("trouble" in error && error.trouble === "disk_full")
    return new CommandFailure(`${doing}: the disk of the database is full`, [spaceHint]);
  if ("explanation" in error) return new CommandFailure(`${doing}: ${String(error.explanation)}`);
  const hints = advice[error.name];
  if (hints !== undefined) return new CommandFailure(`${doing}: ${error.message}`, hints);
  // System errors name the file or socket, so a stack is not needed.
  return "syscall" in error ? new CommandFailure(`${doing}: ${error.message}`) : error;
}

const spaceHint = "Free some disk space, then run the command again.";

/** Messages for system errors about files and folders. */
const refusals: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left",
};

function portTaken(error: Error): CommandFailure {
  const port = "port" in error ? String(error.port) : "?";
  return new CommandFailure(`port ${port} is in use by another program, perhaps another Posthorn`, [
    "Stop it, or use another port: npm start -- --port 9000",
    "A local worker or scheduler may use it for probes. Start that process with POSTHORN_PORT=0.",
  ]);
}
