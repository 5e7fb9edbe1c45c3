import type { Runner } from "./database.ts";
import { DifferentMasterKeyError } from "./errors.ts";

/** The sealed digest key, which all processes of a deployment share (see system/keys/key-file.ts). */
export interface DigestKeyRow {
  readonly place: string;
  read(): Promise<Uint8Array | null>;
  create(sealed: Uint8Array): Promise<Uint8Array>;
  replace(sealed: Uint8Array): Promise<void>;
}

/** `at` is the database's address without credentials, for messages. */
export function digestKeyRow(runner: Runner, at: string): DigestKeyRow {
  const read = async (): Promise<Uint8Array | null> => {
    const [row] = await runner.rows<[key: Uint8Array | null]>("SELECT digest_key FROM posthorn.deployment");
    return row?.[0] ?? null;
  };
  return {
    place: `the row posthorn.deployment of ${at}`,
    read,
    async create(sealed) {
      // If several processes start together, one creates the key.
      await runner.rows("UPDATE posthorn.deployment SET digest_key = $1 WHERE digest_key IS NULL", [
        Buffer.from(sealed),
      ]);
      return (await read()) ?? sealed;
    },
    async replace(sealed) {
      await runner.rows("UPDATE posthorn.deployment SET digest_key = $1", [Buffer.from(sealed)]);
    },
  };
}

/** Ids of master keys, which reveal nothing about the keys. */
export interface MasterKeyIds {
  /** Of the key that seals new secrets. */
  readonly current: string;
  /** Of keys that still open what they sealed. */
  readonly previous: readonly string[];
}

/** The id of the deployment: random, and created with its database. */
export async function deploymentId(runner: Runner): Promise<string> {
  const [row] = await runner.rows<[id: string]>("SELECT id FROM posthorn.deployment");
  return row?.[0] ?? "";
}

/**
 * Ensures that every process that uses the database can read its secrets. The first one stores the id of its master
 * key. Later ones must have that key, as the current one or, after a rotation, among the previous ones.
 */
export async function checkMasterKey(runner: Runner, ids: MasterKeyIds): Promise<void> {
  await runner.rows("INSERT INTO posthorn.deployment (master_key_id) VALUES ($1) ON CONFLICT DO NOTHING", [
    ids.current,
  ]);
  const [row] = await runner.rows<[id: string]>("SELECT master_key_id FROM posthorn.deployment");
  const stored = row?.[0] ?? "";
  if (stored === ids.current) return;
  if (!ids.previous.includes(stored)) throw new DifferentMasterKeyError();
  await runner.rows("UPDATE posthorn.deployment SET master_key_id = $1 WHERE master_key_id = $2", [
    ids.current,
    stored,
  ]);
}
