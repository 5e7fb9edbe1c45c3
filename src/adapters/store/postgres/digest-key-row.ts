import type { Runner } from "./database.ts";

/** The sealed digest key, which all processes of a deployment share (see adapters/keys/digest-key.ts). */
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
