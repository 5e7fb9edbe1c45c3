import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import pg from "pg";
import type { Home } from "./home.ts";

/** Looks into a product's store from outside: what it sees has been committed, whatever the product says. */
export interface Witness {
  /** Deliveries that wait. */
  waiting(): Promise<number>;
  settled(): Promise<Settled>;
  close(): Promise<void>;
}

export interface Settled {
  /** Deliveries that are a success. */
  readonly successes: number;
  readonly attempts: number;
}

/** The store must be there already. Connected when this resolves, so that looking takes no longer than it must. */
export function openWitness({ dataDir, servers }: Home): Promise<Witness> {
  return servers === undefined ? Promise.resolve(ofFile(dataDir)) : ofServer(servers.databaseUrl);
}

function ofFile(dataDir: string): Witness {
  const db = new DatabaseSync(join(dataDir, "posthorn.db"), { readOnly: true });
  const number = (sql: string): number => Number(db.prepare(sql).get()?.["n"]);
  const waiting = db.prepare("SELECT waiting_high + waiting_normal + waiting_low AS n FROM tally");
  return {
    waiting: async () => Number(waiting.get()?.["n"]),
    settled: async () => ({
      successes: number(`SELECT count(*) AS n FROM deliveries WHERE state = ${successCode}`),
      attempts: number("SELECT count(*) AS n FROM attempts"),
    }),
    close: async () => db.close(),
  };
}

async function ofServer(url: string): Promise<Witness> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const number = async (sql: string): Promise<number> => {
    const { rows } = await client.query<{ n: string | null }>(sql);
    return Number(rows[0]?.n);
  };
  return {
    waiting: () =>
      number(`SELECT coalesce(sum(value), 0) AS n FROM posthorn.counters WHERE kind < ${deadLetterKind}`),
    settled: async () => ({
      successes: await number(`SELECT count(*) AS n FROM posthorn.deliveries WHERE state = ${successCode}`),
      attempts: await number("SELECT count(*) AS n FROM posthorn.attempts"),
    }),
    close: () => client.end(),
  };
}

/** As in the stores' codes.ts. */
const successCode = 2;
/** As in the PostgreSQL store's counters.ts: kinds below it are waiting deliveries by priority. */
const deadLetterKind = 3;
