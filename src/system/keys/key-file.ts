import { Buffer } from "node:buffer";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { codeOf, messageOf } from "../../domain/thrown.ts";
import type { Random } from "../../ports/random.ts";
import { SecretUnreadableError } from "../../ports/secret-box.ts";
import { type KeyRing, masterKeyBytes } from "./secret-box.ts";

/** A key as text, stored in a file that only its owner should be able to read. */
interface KeyFile {
  readonly text: string;
  readonly created: boolean;
  /** Sentences for the log. They do not contain the key. */
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
 * The file appears either completely or not at all: it is written under a temporary name, then linked. If two processes
 * start concurrently, the first one succeeds and both use the same key.
 */
export function readOrCreateKeyFile(path: string, generate: () => string): KeyFile {
  const found = readKeyFile(path);
  if (found !== null) return found;
  const created = createKeyFile(path, generate());
  const stored = readKeyFile(path);
  if (stored === null) throw new KeyFileError(`${path} vanished while it was being created`);
  return { ...stored, created };
}

/** Null when the file does not exist. */
function readKeyFile(path: string): KeyFile | null {
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

/** Returns false if another process created the file first. */
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
 * Makes a new directory entry durable; only then is the file durable. Otherwise, a power failure could lose the key
 * that sealed the secrets.
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

/**
 * Stores the key of `SecretBox.digest`. The key is random, created once, and sealed by the master key; it is sealed
 * again when the master key changes. So the digest of a secret stays the same under every master key, and the storage
 * (a file, or a row that several processes share) never contains the key in plain form.
 *
 * It also verifies the master key at startup, because with a wrong master key this is the first secret that cannot be
 * opened. Losing the digest key loses no secrets, but reuse of secrets stored earlier could no longer be detected, and
 * links of pending verifications would stop working. So it is created only if nothing depends on it, and never replaced
 * silently.
 */
export interface DigestKeyHolder {
  /** The location of the key, for error messages. */
  readonly place: string;
  read(): Promise<Uint8Array | null>;
  /** Stores the key unless a key already exists, and returns the stored key. */
  create(sealed: Uint8Array): Promise<Uint8Array>;
  replace(sealed: Uint8Array): Promise<void>;
}

const context = "posthorn digest key";

/** Opens the digest key, or creates it on the first start. */
export async function loadDigestKey(
  holder: DigestKeyHolder,
  ring: KeyRing,
  random: Random,
  /** Whether any secrets are stored, whose digests were computed with this key. */ hasSecrets: () => Promise<boolean>,
): Promise<Uint8Array> {
  const seal = (plaintext: Uint8Array) => ring.seal(plaintext, context);
  let stored = await holder.read();
  if (stored === null) {
    if (await hasSecrets()) throw lostDigestKey(holder.place);
    stored = await holder.create(seal(random.bytes(masterKeyBytes)));
  }
  const key = openDigestKey(holder, ring, stored);
  if (!ring.isCurrent(stored)) await holder.replace(seal(key));
  return key;
}

function lostDigestKey(place: string): KeyFileError {
  return new KeyFileError(
    `${place} is missing, although the database holds secrets that depend on it; restore it from a backup ` +
      "(docs/operations.md, Backup and restore), or if there is none, run: posthorn migrate --new-digest-key",
  );
}

function openDigestKey(holder: DigestKeyHolder, ring: KeyRing, stored: Uint8Array): Uint8Array {
  try {
    return ring.open(stored, context);
  } catch (cause) {
    if (!(cause instanceof SecretUnreadableError)) throw cause;
    throw new KeyFileError(
      `the master key does not match the stored secrets (${holder.place} was encrypted with a different key); ` +
        "set POSTHORN_MASTER_KEY to the key that was in use, or add that key to POSTHORN_MASTER_KEY_PREVIOUS",
      { cause },
    );
  }
}

/** Stores the digest key in a file of the data folder. */
export function createDigestKeyFile(path: string): DigestKeyHolder {
  return {
    place: path,
    async read() {
      const file = readKeyFile(path);
      return file === null ? null : Buffer.from(file.text, "base64");
    },
    async create(sealed) {
      const file = readOrCreateKeyFile(path, () => Buffer.from(sealed).toString("base64"));
      return Buffer.from(file.text, "base64");
    },
    async replace(sealed) {
      // A previous master key can open the old file until the rename, so a crash before it is harmless.
      const temporary = `${path}.${process.pid}.tmp`;
      try {
        writeFileSync(temporary, `${Buffer.from(sealed).toString("base64")}\n`, { mode: 0o600, flush: true });
        renameSync(temporary, path);
      } catch (cause) {
        rmSync(temporary, { force: true });
        throw new KeyFileError(`cannot write the key file ${path}: ${(cause as Error).message}`, { cause });
      }
    },
  };
}

/** The master key that encrypts secrets, and its source. */
interface MasterKey {
  readonly bytes: Uint8Array;
  readonly created: boolean;
  readonly warnings: readonly string[];
}

/**
 * Reads 32 bytes from hex or from base64 (either alphabet, with or without padding). Returns null for anything else;
 * the caller names the setting, never the value.
 */
export function parseMasterKey(text: string): Uint8Array | null {
  const trimmed = text.trim();
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Uint8Array.from(Buffer.from(trimmed, "hex"));
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return null;
  const bytes = Uint8Array.from(Buffer.from(trimmed, "base64"));
  return bytes.length === masterKeyBytes ? bytes : null;
}

/** Reads the master key from the data folder; creates it on the first start. */
export function loadMasterKeyFile(path: string, random: Random): MasterKey {
  const generate = () => Buffer.from(random.bytes(masterKeyBytes)).toString("base64");
  const file: KeyFile = readOrCreateKeyFile(path, generate);
  const bytes = parseMasterKey(file.text);
  if (bytes === null) {
    throw new KeyFileError(
      `${path} does not contain a master key (32 bytes as base64 or hex); restore it from a backup. ` +
        "Without it, the stored secrets cannot be decrypted",
    );
  }
  return { bytes, created: file.created, warnings: file.warnings };
}
