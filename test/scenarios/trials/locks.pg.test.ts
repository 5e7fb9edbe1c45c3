// Locks are held for longer than a worker's lifetime, 40 times. Stalled work continues within ten seconds.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { SeededRandom } from "../../simulation/seeded-random.ts";
import { Rig } from "../outages/rig.fixture.ts";
import { ConnectionsHeld } from "./connections-held.fixture.ts";

const tables = ["workers", "ownership", "counters", "tenant_sequences"] as const;
const trialsEach = 10;
const lockMsMin = 16_000;
const lockMsMax = 30_000;
const servedWithinMsMax = 10_000;
/** The default of `POSTHORN_DATABASE_CONNECTIONS`. */
const connectionsMax = 12;

/** Locks all rows of a table for a while. */
async function lock(url: string, held: { readonly table: string; readonly forMs: number }): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`BEGIN; SELECT FROM posthorn.${held.table} FOR UPDATE`);
    await sleep(held.forMs);
    await client.query("COMMIT");
  } finally {
    await client.end();
  }
}

suite("rows locked by another session for longer than a worker's lifetime", { concurrency: 4 }, () => {
  for (const workers of [3, 4, 5, 6]) {
    test(`${workers} workers continue, ${trialsEach} times`, async (t) => {
      const seed = randomBytes(4).toString("hex");
      t.diagnostic(`seed ${seed}`);
      const random = new SeededRandom(seed);
      const rig = await Rig.open(t, { workers, schedulers: 1, eventsPerSecond: 30 });
      const { server } = rig.deployment.postgres;
      const held = new ConnectionsHeld(server);
      for (let trial = 0; trial < trialsEach; trial += 1) {
        const table = tables[(trial + workers) % tables.length] ?? "workers";
        const forMs = lockMsMin + random.uniform() * (lockMsMax - lockMsMin);
        await t.test(`${table}, ${Math.round(forMs / 1_000)} s`, async (t) => {
          await rig.during(t, {
            happens: () => lock(server.url, { table, forMs }),
            standstillMsMax: forMs + servedWithinMsMax,
            servedWithinMsMax,
            // Upper limit for the requests that were in flight when the lock was taken and were not recorded before
            // other workers took over.
            duplicatesMax: 100,
          });
        });
      }
      const { mostOfOne, looks } = await held.stop();
      t.diagnostic(`at most ${mostOfOne} connections of one process, in ${looks} looks`);
      assert.ok(mostOfOne <= connectionsMax);
    });
  }
});
