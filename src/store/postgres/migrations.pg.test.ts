import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../test/conformance/store/postgres-database.fixture.ts";
import { start } from "../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import { Database } from "./driver/database.ts";
import { loadDriver } from "./driver/driver.ts";
import { Incarnations } from "./driver/server.ts";
import { migrate, migrations, planMigrations, type PostgresMigration } from "./migrations.ts";

async function newDatabase(
  t: TestContext,
): Promise<{ readonly made: TestDatabase; readonly database: Database }> {
  const made = await createTestDatabase();
  const database = new Database(await loadDriver(), {
    url: made.url,
    connectionsMax: 2,
    connectTimeoutMs: 5_000,
    bounds: null,
    preparedStatements: "off",
    incarnations: new Incarnations(),
    unanswered: null,
  });
  t.after(async () => {
    await database.close();
    await made.drop();
  });
  return { made, database };
}

const newest = migrations.at(-1)?.number ?? 0;
const next = { number: newest + 1, name: "next" };

test("a failed migration leaves nothing behind, and continues once it is fixed", async (t) => {
  const { made, database } = await newDatabase(t);
  const broken = { ...next, sql: "CREATE TABLE posthorn.half (id int);\nSELECT 1 / 0;\n" };
  await assert.rejects(migrate(database, start, [...migrations, broken]), /division by zero/);
  assert.deepEqual(await made.query("SELECT to_regclass('posthorn.half')::text AS half"), [{ half: null }]);
  const whole = { ...next, sql: "CREATE TABLE posthorn.half (id int);\n" };
  const known = [...migrations, whole];
  const plan = await migrate(database, start, known);
  assert.deepEqual([plan.from, plan.pending], [newest, [whole]]);
  assert.deepEqual(await planMigrations(database, known), { from: next.number, pending: [] });
});

test("a migration that waits for a long reader does not block others", async (t) => {
  const { made, database } = await newDatabase(t);
  await migrate(database, start);
  const backup = new pg.Client({ connectionString: made.url });
  await backup.connect();
  backup.on("error", () => undefined);
  await backup.query("BEGIN; SELECT FROM posthorn.workers");
  const widened = { ...next, sql: "ALTER TABLE posthorn.workers ADD COLUMN later int;\n" };
  const known = [...migrations, widened];
  const running = migrate(database, start, known);
  await eventually("the migration waits", {
    ask: () =>
      made.query("SELECT FROM pg_locks WHERE relation = 'posthorn.workers'::regclass AND NOT granted"),
    holds: ({ length }) => length === 1,
  });
  const askedMs = performance.now();
  await made.query("INSERT INTO posthorn.workers (alive_until) VALUES (now())");
  assert.ok(performance.now() - askedMs < 30_000, "a worker could not send its heartbeat");
  assert.deepEqual((await planMigrations(database, known)).pending, [widened]);
  await backup.end();
  await running;
  assert.deepEqual((await planMigrations(database, known)).pending, []);
});

test("statements on large tables run outside the transaction, and again after a crash", async (t) => {
  const { made, database } = await newDatabase(t);
  await migrate(database, start);
  const online: PostgresMigration = {
    ...next,
    sql: "SELECT 1;\n",
    beforehand: ["CREATE INDEX CONCURRENTLY IF NOT EXISTS queue_bytes ON posthorn.queue (bytes)"],
  };
  await database.rows(online.beforehand?.[0] ?? "");
  await migrate(database, start, [...migrations, online]);
  const rows = await made.query(
    "SELECT indisvalid FROM pg_index WHERE indexrelid = 'posthorn.queue_bytes'::regclass",
  );
  assert.deepEqual(rows, [{ indisvalid: true }]);
});
