import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../test/conformance/store/postgres-database.fixture.ts";
import {
  claim,
  commit,
  lane,
  publishCommand,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import type { Store } from "../../ports/store.ts";
import { openPostgresStore } from "./open.ts";

const crowd = 20_000;

/** Runs `work` on a store and closes it, so that the server's statistics include all of it. */
async function withStore(database: TestDatabase, work: (store: Store) => Promise<void>): Promise<void> {
  const masterKeyIds = { current: "key", previous: [] };
  const store = await openPostgresStore({ url: database.url, now: start, masterKeyIds });
  try {
    await work(store);
  } finally {
    await store.close();
  }
  await eventually("the connections are gone", {
    // Waits until only the connection of this query is left.
    ask: () => database.query("SELECT pid FROM pg_stat_activity WHERE datname = current_database()"),
    holds: (connections) => connections.length === 1,
  });
}

/** Rows of the `queue` table that were read by sequential scans. */
async function rowsWalked(database: TestDatabase): Promise<number> {
  const [row] = await database.query(
    "SELECT seq_tup_read::int AS walked FROM pg_stat_user_tables WHERE schemaname = 'posthorn' AND relname = 'queue'",
  );
  return Number(row?.["walked"]);
}

test("waiting deliveries in one lane cost nothing in another", async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  await withStore(database, async (store) => {
    for (let done = 0; done < crowd; done += 500) {
      const publishes = Array.from({ length: 500 }, () =>
        publishCommand({ deliveries: [{ lane: lane("crowded") }] }),
      );
      await commit(store, { publishes });
    }
  });
  await database.query("VACUUM (ANALYZE)");
  const before = await rowsWalked(database);

  await withStore(database, async (store) => {
    for (const ordering of ["none", "strict"] as const) {
      const quiet = lane("quiet", ordering);
      const published = await commit(store, {
        publishes: [
          publishCommand({ deliveries: [{ lane: quiet, claim: true, leaseUntil: start + 60_000 }] }),
        ],
      });
      assert.equal(published.publishes[0]?.kind, "accepted");
      await commit(store, { publishes: [publishCommand({ deliveries: [{ lane: quiet }] })] });
      const { deliveries } = await claim(store, quiet);
      await commit(store, { settlements: deliveries.map(({ lease }) => settlement(lease)) });
      await claim(store, quiet);
    }
    await store.deliveries.lanesWithWork(null, 100);
    const { webhookId } = lane("quiet");
    await store.upkeep.cancelWebhook({ webhookId, now: start, limit: 100, keepsMark: true });
    await store.upkeep.cancelWebhook({ webhookId, now: start, limit: 100 });
  });
  const walked = (await rowsWalked(database)) - before;
  assert.ok(walked < crowd, `${walked} rows of the queue were read one after the other`);
});
