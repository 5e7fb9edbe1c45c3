import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../../test/conformance/store/postgres-database.fixture.ts";
import {
  day,
  newAttempt,
  only,
  publish,
  publishSettled,
  runToEnd,
  settle,
  start,
} from "../../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../../test/scenarios/eventually.fixture.ts";
import type { Store } from "../../../ports/store.ts";
import { openPostgresStore } from "../open.ts";

async function openHere(t: TestContext): Promise<{ readonly database: TestDatabase; readonly store: Store }> {
  const database = await createTestDatabase();
  const masterKeyIds = { current: "key", previous: [] };
  const store = await openPostgresStore({ url: database.url, now: start, masterKeyIds });
  t.after(async () => {
    await store.close();
    await database.drop();
  });
  return { database, store };
}

async function partitions(database: TestDatabase): Promise<readonly unknown[]> {
  const rows = await database.query(
    `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'posthorn.attempts'::regclass ORDER BY 1`,
  );
  return rows.map(({ relname }) => relname);
}

test("WDS-35 WDS-222 attempts are partitioned by month, some months ahead", async (t) => {
  const { database, store } = await openHere(t);
  const first = ["attempts_2025_12", "attempts_2026_01", "attempts_2026_02", "attempts_2026_03"];
  assert.deepEqual(await partitions(database), [...first, "attempts_rest"]);
  await store.upkeep.forgetKeys(start + 40 * day, 10);
  assert.deepEqual(await partitions(database), [...first, "attempts_2026_04", "attempts_rest"]);
  await publishSettled(store, {}, { attempt: newAttempt() });
  const rows = await database.query("SELECT tableoid::regclass::text AS place FROM posthorn.attempts");
  assert.deepEqual(rows, [{ place: "posthorn.attempts_2026_01" }]);
});

test("WDS-223 history of a webhook has an index on webhook and time in every partition", async (t) => {
  const { database } = await openHere(t);
  const rows = await database.query(
    "SELECT tablename FROM pg_indexes WHERE schemaname = 'posthorn' AND indexdef LIKE '%(webhook, executed_at)'",
  );
  const expected = new Set(["attempts", ...(await partitions(database))]);
  assert.deepEqual(new Set(rows.map(({ tablename }) => tablename)), expected);
});

test("an attempt in a month without a partition is kept, and moves when its partition is created", async (t) => {
  const { database, store } = await openHere(t);
  const later = newAttempt({ executedAt: start + 200 * day });
  const { deliveries } = await publishSettled(store, {}, { attempt: later });
  const place = async () =>
    only(await database.query("SELECT tableoid::regclass::text AS place FROM posthorn.attempts"))["place"];
  assert.equal(await place(), "posthorn.attempts_rest");
  await store.upkeep.forgetKeys(start + 200 * day, 10);
  assert.equal(await place(), "posthorn.attempts_2026_07");
  assert.deepEqual(await store.history.listAttempts(only(deliveries).id), [later]);
});

test("a late partition receives attempts that are written while it is created", async (t) => {
  const { database, store } = await openHere(t);
  const now = start + 100 * day;
  const late = newAttempt({ executedAt: now });
  const { deliveries } = await publishSettled(store, {}, { attempt: newAttempt({ executedAt: now }) });
  const writer = new pg.Client({ connectionString: database.url });
  await writer.connect();
  writer.on("error", () => undefined);
  await writer.query(
    `BEGIN; INSERT INTO posthorn.attempts SELECT delivery, ${now}, ${now}, NULL, 10, '${late.id}', webhook, 2, 200,
       outcome, NULL, false, NULL, NULL FROM posthorn.attempts`,
  );
  const forgetting = store.upkeep.forgetKeys(now, 10);
  await eventually("the new month waits for the writer", {
    ask: () =>
      database.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      ),
    holds: ({ length }) => length === 1,
  });
  await writer.query("COMMIT");
  await writer.end();
  await forgetting;
  assert.equal((await database.query("SELECT FROM posthorn.attempts_2026_04")).length, 2);
  assert.equal((await store.history.listAttempts(only(deliveries).id)).length, 2);
});

test("attempts too numerous to move stay where they are, and later months are created", async (t) => {
  const { database, store } = await openHere(t);
  const now = start + 100 * day;
  await database.query(
    `INSERT INTO posthorn.attempts (delivery, executed_at, scheduled_at, duration_ms, id, webhook, number, outcome,
       state_unknown) SELECT n, ${now}, ${now}, 1, gen_random_uuid(), 1, 1, 0, false FROM generate_series(1, 20000) AS n`,
  );
  await store.upkeep.forgetKeys(now, 10);
  const made = await partitions(database);
  assert.ok(!made.includes("attempts_2026_04"));
  for (const name of ["attempts_2026_05", "attempts_2026_06"]) assert.ok(made.includes(name), name);
  assert.equal((await database.query("SELECT FROM posthorn.attempts_rest")).length, 20_000);
});

test("WDS-224 retention drops whole months once no delivery of that age waits any more", async (t) => {
  const { database, store } = await openHere(t);
  await publishSettled(store, {}, { attempt: newAttempt() });
  const { leases } = await publish(store, { deliveries: [{ claim: true }] });
  const forget = () =>
    runToEnd(() =>
      store.upkeep.forgetHistory({ createdBefore: start + 90 * day, now: start + 90 * day, limit: 100 }),
    );
  await forget();
  assert.ok((await partitions(database)).includes("attempts_2026_01"));
  await settle(store, only(leases), { attempt: newAttempt() });
  await forget();
  assert.deepEqual(await partitions(database), ["attempts_rest"]);
  await publishSettled(store, {}, { attempt: newAttempt({ executedAt: start + 91 * day }) });
  assert.equal((await database.query("SELECT 1 FROM posthorn.attempts")).length, 1);
});
