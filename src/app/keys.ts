import { createHmac } from "node:crypto";
import type { Settings } from "../config/options.ts";
import type { Random } from "../ports/random.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { Store } from "../ports/store.ts";
import {
  type DigestKeyHolder,
  loadDigestKey,
  loadMasterKeyFile,
  parseMasterKey,
  readOrCreateKeyFile,
} from "../system/keys/key-file.ts";
import { createKeyRing, createSecretBox } from "../system/keys/secret-box.ts";
import type { DataFolder } from "./data-folder.ts";

/** All keys of the process. They are never logged. */
export interface Keys {
  readonly secretBox: SecretBox;
  readonly adminKey: string;
  /** The file with the admin key; null if the key came from a setting. */
  readonly adminKeyFile: string | null;
  /** Encrypts cursors. Derived from the master key, so that cursors survive a restart. */
  readonly cursorKey: Uint8Array;
  readonly warnings: readonly string[];
}

/** Whether any files are needed: SQLite and its keys, or an admin key that is not in the settings. */
export function needsFolder(settings: Pick<Settings, "adminKey" | "roles" | "databaseUrl">): boolean {
  const { adminKey, roles, databaseUrl } = settings;
  return databaseUrl === null || (adminKey === null && roles.includes("api"));
}

/** A setting does not contain a valid key. The message names the setting, never the value. */
class KeySettingError extends Error {
  override readonly name = "KeySettingError";
}

/** The master keys, read before a store is opened, because a shared store needs their IDs. */
export interface MasterKeys {
  readonly current: Uint8Array;
  readonly previous: readonly Uint8Array[];
  readonly warnings: readonly string[];
}

/** Reads the master keys from settings, or from a file in the data folder, which is created at the first start. */
export function readMasterKeys(
  settings: Pick<Settings, "masterKey" | "masterKeyPrevious">,
  folder: DataFolder,
  random: Random,
): MasterKeys {
  const master = masterKeyOf(settings, folder, random);
  const previous = settings.masterKeyPrevious.map((text) => parsed(text, "POSTHORN_MASTER_KEY_PREVIOUS"));
  return { current: master.bytes, previous, warnings: master.warnings };
}

/** Opens the digest key, and reads the admin key, which is created at the first start. */
export async function loadKeys(
  settings: Pick<Settings, "adminKey" | "roles" | "databaseUrl">,
  given: {
    readonly master: MasterKeys;
    readonly holder: DigestKeyHolder;
    readonly store: Pick<Store, "webhooks">;
    readonly folder: DataFolder;
    readonly random: Random;
  },
): Promise<Keys> {
  const { master, holder, store, folder, random } = given;
  const ring = createKeyRing(master.current, master.previous, random);
  const digestKey = await loadDigestKey(holder, ring, random, () => store.webhooks.hasSecrets());
  const admin = adminKeyOf(settings, folder, random);
  return {
    secretBox: createSecretBox(ring, digestKey),
    adminKey: admin.key,
    adminKeyFile: admin.file,
    cursorKey: createHmac("sha256", master.current).update("posthorn cursor key").digest(),
    warnings: [...master.warnings, ...admin.warnings],
  };
}

/** Creates a new digest key if the existing one is permanently lost. An existing key is kept. */
export async function replaceLostDigestKey(
  holder: DigestKeyHolder,
  master: MasterKeys,
  random: Random,
): Promise<void> {
  const ring = createKeyRing(master.current, master.previous, random);
  await loadDigestKey(holder, ring, random, async () => false);
}

function masterKeyOf(
  { masterKey }: Pick<Settings, "masterKey">,
  folder: DataFolder,
  random: Random,
): { readonly bytes: Uint8Array; readonly warnings: readonly string[] } {
  if (masterKey !== null) return { bytes: parsed(masterKey, "POSTHORN_MASTER_KEY"), warnings: [] };
  return loadMasterKeyFile(folder.masterKeyFile, random);
}

function parsed(text: string, setting: string): Uint8Array {
  const bytes = parseMasterKey(text);
  if (bytes !== null) return bytes;
  throw new KeySettingError(
    `${setting} is not a valid master key: it must be 32 bytes as base64 or hex; create one with: openssl rand -base64 32`,
  );
}

const adminKeyBytes = 32;

function adminKeyOf(
  { adminKey, roles, databaseUrl }: Pick<Settings, "adminKey" | "roles" | "databaseUrl">,
  folder: DataFolder,
  random: Random,
): { readonly key: string; readonly file: string | null; readonly warnings: readonly string[] } {
  if (adminKey !== null) return { key: adminKey, file: null, warnings: [] };
  const path = folder.adminKeyFile;
  const generate = () => `phk_admin_${Buffer.from(random.bytes(adminKeyBytes)).toString("base64url")}`;
  // Without a listener the key cannot be used, so it is not stored.
  if (!needsFolder({ adminKey, roles, databaseUrl })) return { key: generate(), file: null, warnings: [] };
  const { text, warnings } = readOrCreateKeyFile(path, generate);
  if (databaseUrl === null) return { key: text, file: path, warnings };
  const own = `the admin key in ${path} is local to this process: set POSTHORN_ADMIN_KEY if several processes serve the API`;
  return { key: text, file: path, warnings: [...warnings, own] };
}
