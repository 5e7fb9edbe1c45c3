import type { Runner } from "./database.ts";
import { DifferentMasterKeyError } from "./errors.ts";

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
