import { Buffer } from "node:buffer";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import type { Random } from "../../ports/random.ts";
import { SecretUnreadableError } from "../../ports/secret-box.ts";
import { KeyFileError, readKeyFile, readOrCreateKeyFile } from "./key-file.ts";
import { type KeyRing, masterKeyBytes } from "./secret-box.ts";

/**
 * Stores the key of `SecretBox.digest`. The key is random, created once, and sealed by the master key; it is sealed
 * again when the master key changes. So the digest of a secret stays the same under every master key, and the storage
 * (a file, or a row that several processes share) never shows the key.
 *
 * It also verifies the master key at start: with a wrong one, this is the first thing that fails to open. Losing the
 * digest key loses no secrets, but reuse of secrets stored earlier would no longer be detected, and links of pending
 * verifications would stop working. So it is created only where nothing depends on it, and never replaced silently.
 */
export interface DigestKeyHolder {
  /** The location, for error messages. */
  readonly place: string;
  read(): Promise<Uint8Array | null>;
  /** Stores the key unless one exists, and returns the stored one. */
  create(sealed: Uint8Array): Promise<Uint8Array>;
  replace(sealed: Uint8Array): Promise<void>;
}

const context = "posthorn digest key";

/** Opens the digest key, or creates it on the first start. */
export async function loadDigestKey(
  holder: DigestKeyHolder,
  ring: KeyRing,
  random: Random,
  /** Whether secrets are stored; their digests were computed with this key. */ hasSecrets: () => Promise<boolean>,
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
      `the master key does not fit the stored secrets (${holder.place} was sealed with another one); ` +
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
      const file = readOrCreateKeyFile({ path, generate: () => Buffer.from(sealed).toString("base64") });
      return Buffer.from(file.text, "base64");
    },
    async replace(sealed) {
      // A previous master key opens the old file until the rename, so a crash in between is harmless.
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
