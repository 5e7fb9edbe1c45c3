import { createHmac } from "node:crypto";
import { createDigestKeyFile, loadDigestKey } from "../adapters/system/digest-key.ts";
import { readOrCreateKeyFile } from "../adapters/system/key-file.ts";
import { loadMasterKeyFile, parseMasterKey } from "../adapters/system/master-key.ts";
import { createKeyRing, createSecretBox } from "../adapters/system/secret-box.ts";
import type { Settings } from "../config/options.ts";
import type { Random } from "../ports/random.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { DataFolder } from "./data-folder.ts";

/** Every key the process needs. None of them is ever logged. */
export interface Keys {
  readonly secretBox: SecretBox;
  readonly adminKey: string;
  /** Where a person finds the admin key; null when it came from a setting. */
  readonly adminKeyFile: string | null;
  /** Encrypts cursors; follows from the master key, so that cursors survive a restart. */
  readonly cursorKey: Uint8Array;
  readonly warnings: readonly string[];
}

/** A key in a setting is not one; the message names the setting, never the value. */
class KeySettingError extends Error {
  override readonly name = "KeySettingError";
}

/** Reads the keys from settings, or from files of the data folder, which are made on the first start. */
export async function loadKeys(
  settings: Pick<Settings, "adminKey" | "masterKey" | "masterKeyPrevious">,
  { folder, random }: { readonly folder: DataFolder; readonly random: Random },
): Promise<Keys> {
  const master = masterKeyOf(settings, { folder, random });
  const previous = settings.masterKeyPrevious.map((text) =>
    parsed({ text, setting: "POSTHORN_MASTER_KEY_PREVIOUS" }),
  );
  const ring = createKeyRing({ current: master.bytes, previous, random });
  const digestKey = await loadDigestKey({ holder: createDigestKeyFile(folder.digestKeyFile), ring, random });
  const admin = adminKeyOf(settings, { folder, random });
  return {
    secretBox: createSecretBox({ ring, digestKey }),
    adminKey: admin.key,
    adminKeyFile: admin.file,
    cursorKey: createHmac("sha256", master.bytes).update("posthorn cursor key").digest(),
    warnings: [...master.warnings, ...admin.warnings],
  };
}

function masterKeyOf(
  { masterKey }: Pick<Settings, "masterKey">,
  { folder, random }: { readonly folder: DataFolder; readonly random: Random },
): { readonly bytes: Uint8Array; readonly warnings: readonly string[] } {
  if (masterKey !== null)
    return { bytes: parsed({ text: masterKey, setting: "POSTHORN_MASTER_KEY" }), warnings: [] };
  return loadMasterKeyFile({ path: folder.masterKeyFile, random });
}

function parsed({ text, setting }: { readonly text: string; readonly setting: string }): Uint8Array {
  const bytes = parseMasterKey(text);
  if (bytes !== null) return bytes;
  throw new KeySettingError(
    `${setting} is not a master key: it takes 32 bytes as base64 or hex; make one with: openssl rand -base64 32`,
  );
}

const adminKeyBytes = 32;

function adminKeyOf(
  { adminKey }: Pick<Settings, "adminKey">,
  { folder, random }: { readonly folder: DataFolder; readonly random: Random },
): { readonly key: string; readonly file: string | null; readonly warnings: readonly string[] } {
  if (adminKey !== null) return { key: adminKey, file: null, warnings: [] };
  const path = folder.adminKeyFile;
  const generate = () => `phk_admin_${Buffer.from(random.bytes(adminKeyBytes)).toString("base64url")}`;
  const { text, warnings } = readOrCreateKeyFile({ path, generate });
  return { key: text, file: path, warnings };
}
