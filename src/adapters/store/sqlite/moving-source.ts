import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { MoveSource } from "../../../ports/store/moving.ts";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { storeError } from "./errors.ts";
import { SqlitePartReader } from "./moving-reader.ts";
import { databaseFile } from "./open.ts";

/** Reads what a data folder holds, also while a server works on it: it only reads. */
export function openSqliteMoveSource({ dataDir }: { readonly dataDir: string }): MoveSource {
  const file = databaseFile(dataDir);
  if (!existsSync(file)) throw new StoreUnavailableError(`there is no database in ${dataDir}`);
  try {
    return new SqliteMoveSource(new DatabaseSync(file, { readOnly: true, timeout: 5_000 }));
  } catch (error) {
    throw storeError(error);
  }
}

class SqliteMoveSource extends SqlitePartReader implements MoveSource {
  /** The server's WAL cannot shrink until the next call. */
  async freeze(): Promise<void> {
    await this.guarded(() => {
      if (this.db.isTransaction) this.db.exec("COMMIT");
      this.db.exec("BEGIN");
    });
  }
}
