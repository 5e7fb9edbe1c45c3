import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { createTestDatabase } from "../../../../test/conformance/store/postgres-database.fixture.ts";
import { hour, newId, publish, runToEnd, start } from "../../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../../test/scenarios/eventually.fixture.ts";
import { openPostgresStore } from "../open.ts";

const masterKeyIds = { current: "key", previous: [] };

test("upkeep returns to rows that were committed after rows with a higher position", async (t) => {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const opened = await Promise.all(
    [1, 2].map(() => openPostgresStore({ url: database.url, now: start, masterKeyIds })),
  );
  const [slow, fast] = opened;
  assert.ok(slow !== undefined && fast !== undefined);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  stack.defer(async () => {
    await client.end();
    await Promise.all(opened.map((store) => store.close()));
  });
  const expire = (now: number): Promise<number> =>
    runToEnd(() => fast.upkeep.expire({ now, limit: 100, ageMsByWebhook: new Map(), ageMsDefault: hour }));

  await publish(slow, { event: { tenantId: "slow" } });
  assert.equal(await expire(start + 2 * hour), 1);
  await client.query("BEGIN");
  await client.query(
    `INSERT INTO posthorn.dedup_keys SELECT ref, 'key', '${newId()}', NULL, 0 FROM posthorn.strings WHERE string =
      'slow'`,
  );
  // The late publish already has its positions and waits for another transaction with the same key.
  const late = publish(slow, {
    event: { tenantId: "slow", idempotencyKey: "key" },
    dedupUntil: start + hour,
  });
  await eventually("the commit waits", {
    ask: () =>
      client.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      ),
    holds: ({ rowCount }) => rowCount === 1,
  });
  await publish(fast, { event: { tenantId: "fast" } });
  assert.equal(await expire(start), 0);
  await expire(start);
  await client.query("ROLLBACK");
  await late;
  assert.equal(await expire(start + 2 * hour), 2, "the last committed delivery waits forever");

  await publish(fast);
  const places = `(SELECT floor FROM posthorn.sweeps WHERE name = 'expire') - (SELECT min(delivery) FROM posthorn.queue)`;
  // The floor rises only after all transactions that were running have ended. Other tests use the same server, so this
  // takes a while.
  await eventually("the floor is below what waits", {
    ask: async () => {
      await expire(start);
      return database.query(`SELECT (${places})::int AS distance`);
    },
    holds: ([row]) => row?.["distance"] === -1,
  });
});
