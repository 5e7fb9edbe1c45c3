import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { machineMs } from "../process/serve-calls.ts";
import type { Home } from "./product.ts";

/** Reads Posthorn's store from another process, so it sees only what is committed. */
export interface Witness {
  /** Number of waiting deliveries. */
  waiting(): Promise<number>;
  settled(): Promise<Settled>;
  close(): Promise<void>;
}

interface Settled {
  /** Number of successful deliveries. */
  readonly successes: number;
  readonly attempts: number;
}

/** Opens an existing store. Resolves when the connection is open, so the first query is fast. */
export function openWitness({ dataDir, servers }: Home): Promise<Witness> {
  return servers === undefined ? Promise.resolve(ofFile(dataDir)) : ofServer(servers.databaseUrl);
}

function ofFile(dataDir: string): Witness {
  const db = new DatabaseSync(join(dataDir, "posthorn.db"), { readOnly: true });
  const number = (sql: string): number => Number(db.prepare(sql).get()?.["n"]);
  const waiting = db.prepare("SELECT waiting_high + waiting_normal + waiting_low AS n FROM counters");
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

/** As in the stores' column-values.ts. */
const successCode = 2;
/** As in the PostgreSQL store's lane-counters.ts: kinds below this value are waiting deliveries by priority. */
const deadLetterKind = 3;

/**
 * Returns the machine's clock reading (ms) once at most `left` deliveries are waiting and all others are settled and
 * committed.
 */
export async function committed(witness: Witness, left: number): Promise<number> {
  const endsAt = performance.now() + waitMsMax;
  for (;;) {
    const waiting = await witness.waiting();
    if (waiting <= left) return machineMs();
    if (performance.now() > endsAt) throw new Error(`deliveries still wait: ${waiting}, expected ${left}`);
    await sleep(pollMs);
  }
}

/** Verifies that every delivery in the store is a success with one attempt. */
export async function verifySettled(home: Home, total: number): Promise<void> {
  const witness = await openWitness(home);
  try {
    const { successes, attempts } = await witness.settled();
    if (successes === total && attempts === total) return;
    throw new Error(`of ${total} deliveries ${successes} are settled with ${attempts} attempts`);
  } finally {
    await witness.close();
  }
}

const pollMs = 2;
const waitMsMax = 30_000;
