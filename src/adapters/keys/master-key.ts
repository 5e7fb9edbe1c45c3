import { Buffer } from "node:buffer";
import type { Random } from "../../ports/random.ts";
import { type KeyFile, KeyFileError, readOrCreateKeyFile } from "./key-file.ts";
import { masterKeyBytes } from "./secret-box.ts";

/** The master key that encrypts secrets, and its source. */
export interface MasterKey {
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
  const file: KeyFile = readOrCreateKeyFile({ path, generate });
  const bytes = parseMasterKey(file.text);
  if (bytes === null) {
    throw new KeyFileError(
      `${path} does not hold a master key (32 bytes as base64 or hex); restore it from a backup. ` +
        "Without it the stored secrets cannot be read",
    );
  }
  return { bytes, created: file.created, warnings: file.warnings };
}
