import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createTestDatabase } from "../../test/conformance/store/postgres-database.fixture.ts";
import { atEnd } from "../at-end.ts";
import type { ServerSettings } from "../product/home.ts";
import { removeFromServers } from "./remove.ts";
import { requireServer } from "./require-server.ts";

/** A PostgreSQL database of its own. */
export interface BenchDatabase {
  readonly url: string;
  /**
   * What autovacuum does within a minute of a large change: statistics for the planner, and rows marked as seen. Done at
   * once, so that a run depends neither on when it began nor on autovacuum being on.
   */
  tidy(): Promise<void>;
  drop(): Promise<void>;
}

/** Skips the row where no PostgreSQL can be reached. */
export async function createBenchDatabase(): Promise<BenchDatabase> {
  await requireServer("pg");
  const database = await createTestDatabase();
  return {
    url: database.url,
    tidy: async () => {
      await database.query("VACUUM (ANALYZE)");
    },
    drop: removal({ databaseUrl: database.url }),
  };
}

/** Removes what lies on servers: when it is called, or when the harness ends before. */
export function removal(settings: Partial<ServerSettings>): () => Promise<void> {
  const callOff = atEnd(() => {
    // By standard input, because an address may hold a password.
    spawnSync(process.execPath, [removeScript], { input: JSON.stringify(settings), timeout: removeMsMax });
  });
  return async () => {
    callOff();
    await removeFromServers(settings);
  };
}

const removeScript = fileURLToPath(new URL("remove.ts", import.meta.url));
const removeMsMax = 20_000;
