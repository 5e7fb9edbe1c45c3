import type { Runner } from "./database.ts";
import { DatabaseSetupError } from "./errors.ts";

/** PostgreSQL 15 and later. */
const versionMin = 150_000;

export interface ServerFacts {
  /** `server_version_num`: 150004 is 15.4. */
  readonly version: number;
  readonly encoding: string;
  readonly readOnly: boolean;
}

export async function readServerFacts(runner: Runner): Promise<ServerFacts> {
  const [row] = await runner.rows<[version: string, encoding: string, readOnly: string]>(
    `SELECT current_setting('server_version_num'), current_setting('server_encoding'),
       current_setting('transaction_read_only')`,
  );
  return { version: Number(row?.[0]), encoding: row?.[1] ?? "", readOnly: row?.[2] === "on" };
}

/** Throws DatabaseSetupError for a server or database that cannot hold the store. */
export function judgeServer({ version, encoding, readOnly }: ServerFacts): void {
  if (version < versionMin) {
    throw new DatabaseSetupError(
      "too_old",
      `the server is PostgreSQL ${Math.floor(version / 10_000)}, and Posthorn needs 15 or later: upgrade it`,
    );
  }
  if (encoding !== "UTF8") {
    throw new DatabaseSetupError(
      "encoding",
      `the database has the encoding ${encoding}: create it with createdb --encoding=UTF8 --template=template0`,
    );
  }
  if (readOnly) {
    throw new DatabaseSetupError("read_only", "the database is read-only: name the primary, not a standby");
  }
}
