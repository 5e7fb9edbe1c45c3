import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { codeOf, messageOf } from "../../core/thrown.ts";

/** A key as text, from a file that only its owner should be able to read. */
export interface KeyFile {
  readonly text: string;
  readonly created: boolean;
  /** Sentences for the log, without the key. */
  readonly warnings: readonly string[];
}

/** The file exists but cannot be used; the message says what to do. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
}

/**
 * Reads a key file, or creates it with the text that `generate` returns. A new file has mode 0600 and is on disk before
 * anything depends on it.
 *
 * The file appears whole or not at all: it is written under a temporary name, then linked. If two processes start
 * together, the first one wins and both use the same key.
 */
export function readOrCreateKeyFile(input: {
  readonly path: string;
  readonly generate: () => string;
}): KeyFile {
  const found = readKeyFile(input.path);
  if (found !== null) return found;
  const created = createKeyFile(input.path, input.generate());
  const stored = readKeyFile(input.path);
  if (stored === null) throw new KeyFileError(`${input.path} vanished while it was being created`);
  return { ...stored, created };
}

/** Null when the file does not exist. */
export function readKeyFile(path: string): KeyFile | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw new KeyFileError(`cannot read the key file ${path}: ${messageOf(error)}`, { cause: error });
  }
  if (text === "") {
    throw new KeyFileError(
      `the key file ${path} is empty; restore it from a backup, or delete it if nothing was stored yet`,
    );
  }
  const mode = statSync(path).mode & 0o777;
  const open = (mode & 0o077) !== 0;
  const warning = `${path} can be read by other users (mode ${mode.toString(8)}); run: chmod 600 ${path}`;
  return { text, created: false, warnings: open ? [warning] : [] };
}

/** False when another process created the file first. */
function createKeyFile(path: string, text: string): boolean {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeNewFile(temporary, `${text}\n`);
    linkSync(temporary, path);
    syncDirectory(dirname(path));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw new KeyFileError(`cannot create the key file ${path}: ${messageOf(error)}`, { cause: error });
  } finally {
    removeIfThere(temporary);
  }
}

function writeNewFile(path: string, text: string): void {
  removeIfThere(path);
  const file = openSync(path, "wx", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * A file is durable only when its directory entry is. Otherwise a power failure can lose the key that sealed the
 * secrets.
 */
function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
