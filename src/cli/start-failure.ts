import { codeOf } from "../core/thrown.ts";
import { CommandFailure } from "./failures.ts";

/** Errors of a start that a person can do something about, by name: their classes belong to adapters. */
const advice: Readonly<Record<string, readonly string[]>> = {
  DataFolderInUseError: ["Another server runs on this folder. Stop it, or use another folder: --data-dir."],
  DataFolderError: [],
  SchemaTooNewError: [],
  MigrationMismatchError: ["Restore the database from a backup, or use the version that made it."],
  ForeignDatabaseError: [
    "Use another folder: --data-dir. If it was one, restore a backup: docs/operations.md, Backup and restore.",
  ],
  EmptiedDatabaseError: ["Backup and restore: docs/operations.md."],
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

/** What to tell a person about a failed start; anything unknown stays what it is, with its stack. */
export function startFailure(error: unknown, doing = "cannot start"): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === "BackupElsewhereError") return new CommandFailure(error.message, []);
  const code = codeOf(error);
  if (code === "EADDRINUSE") return portTaken(error);
  if (code === "EACCES" && "port" in error) {
    return new CommandFailure(`port ${String(error.port)} needs more rights than this user has`, [
      "Use a port from 1024 on: --port.",
    ]);
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new CommandFailure(`this machine cannot listen on that host: ${error.message}`, [
      "Use --host 127.0.0.1, or 0.0.0.0 for all addresses.",
    ]);
  }
  const refused = refusals[code ?? ""];
  if (refused !== undefined && "path" in error) {
    const hint =
      code === "ENOSPC"
        ? spaceHint
        : "The user who runs this needs to write there; or use another folder: --data-dir.";
    return new CommandFailure(`${doing}: ${String(error.path)}: ${refused}`, [hint]);
  }
  // Nothing runs yet that could go on when there is space again.
  if ("trouble" in error && error.trouble === "disk_full")
    return new CommandFailure(`${doing}: the disk of the database is full`, [spaceHint]);
  if ("explanation" in error) return new CommandFailure(`${doing}: ${String(error.explanation)}`);
  const hints = advice[error.name];
  if (hints !== undefined) return new CommandFailure(`${doing}: ${error.message}`, hints);
  // The system refused a file or a socket; its words name it, and a stack would add nothing.
  return "syscall" in error ? new CommandFailure(`${doing}: ${error.message}`) : error;
}

const spaceHint = "Free some space or make the disk larger, then run the command again.";

/** What the system says of a file or folder, in words. */
const refusals: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
};

function portTaken(error: Error): CommandFailure {
  const port = "port" in error ? String(error.port) : "?";
  return new CommandFailure(`port ${port} is taken by another program, perhaps by another Posthorn`, [
    "Stop that one, or use another port: npm start -- --port 9000",
    "A worker or scheduler of this machine may have it for its probes; start that one with POSTHORN_PORT=0.",
  ]);
}
