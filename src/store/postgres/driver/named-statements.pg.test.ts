import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../../test/conformance/store/postgres-database.fixture.ts";
import {
  claim,
  commit,
  lane,
  newAttempt,
  publishCommand,
  settlement,
  start,
} from "../../../../test/conformance/store/scene.fixture.ts";
import { startTransactionPooler } from "../../../../test/conformance/store/transaction-pooler.fixture.ts";
import { eventually } from "../../../../test/scenarios/eventually.fixture.ts";
import type { Store } from "../../../ports/store.ts";
import { Database } from "./database.ts";
import { loadDriver } from "./driver.ts";
import { Incarnations } from "./server.ts";
import { plannedEachTime, type PreparedStatements } from "./named-statements.ts";
import { openPostgresStore } from "../open.ts";

const keptSql = "SELECT count(*)::int FROM pg_prepared_statements";

suite("statements that sessions keep under a name", () => {
  const stack = new AsyncDisposableStack();
  let database: TestDatabase;

  before(async () => {
    database = await createTestDatabase();
    stack.defer(() => database.drop());
    await database.query("CREATE TABLE things (number int); INSERT INTO things VALUES (1)");
  });

  after(() => stack.disposeAsync());

  const open = async (
    preparedStatements: PreparedStatements,
    { url = database.url, connectionsMax = 1 } = {},
  ): Promise<Database> => {
    const opened = new Database(await loadDriver(), {
      url,
      connectionsMax,
      preparedStatements,
      connectTimeoutMs: 30_000,
      bounds: null,
      unanswered: null,
      incarnations: new Incarnations(),
    });
    stack.defer(() => opened.close());
    return opened;
  };

  const thingsSql = "SELECT * FROM things WHERE number = $1::int";

  test("a session that lost them is replaced without an error for callers", async () => {
    const direct = await open("auto");
    assert.deepEqual(await direct.rows(thingsSql, [1]), [[1]]);
    const [[kept] = [0]] = await direct.rows<[number]>(keptSql);
    assert.ok(kept >= 1, "it was kept");
    await direct.rows("DEALLOCATE ALL");
    assert.deepEqual(await direct.rows(thingsSql, [1]), [[1]]);
    await direct.rows("DEALLOCATE ALL");
    const written = await direct.transaction(async (transaction) => {
      await transaction.rows("INSERT INTO things VALUES (2)");
      return transaction.rows(thingsSql, [2]);
    });
    assert.deepEqual(written, [[2]], "the transaction was run again as a whole");
  });

  test("a large batch, and a statement marked so, is planned for its contents", async () => {
    const direct = await open("auto");
    const asksSql =
      "SELECT count(*)::int FROM pg_prepared_statements WHERE statement LIKE 'SELECT count(*)::int FROM unnest%'";
    const batch = (count: number) => `{${Array.from({ length: count }, (_, at) => at).join(",")}}`;
    const sql = "SELECT count(*)::int FROM unnest($1::int[]) AS number";
    assert.deepEqual(await direct.rows(sql, [batch(1_000)]), [[1_000]]);
    await direct.rows(plannedEachTime + sql, [batch(1)]);
    assert.deepEqual(await direct.rows(asksSql), [[0]]);
    for (let count = 0; count < 3; count += 1) await direct.rows(sql, [batch(10)]);
    assert.deepEqual(await direct.rows(asksSql), [[1]]);
    const plansSql = `SELECT generic_plans::int, custom_plans::int ${asksSql.slice(asksSql.indexOf("FROM"))}`;
    assert.deepEqual(await direct.rows(plansSql), [[3, 0]], "planned once, for any values");
    const modeSql = `${plannedEachTime}SELECT current_setting('plan_cache_mode') FROM (VALUES ($1::int)) AS v`;
    assert.deepEqual(await direct.rows(modeSql, [1]), [["auto"]]);
  });

  test("one whose result has other columns since a migration is planned again, in every session", async () => {
    const direct = await open("auto", { connectionsMax: 4 });
    const all = () => Promise.all(Array.from({ length: 8 }, () => direct.rows(thingsSql, [1])));
    await all();
    await database.query("ALTER TABLE things ADD COLUMN name text");
    for (const rows of await all()) assert.deepEqual(rows, [[1, null]]);
    await database.query("ALTER TABLE things DROP COLUMN name");
    for (const rows of await all()) assert.deepEqual(rows, [[1]]);
  });

  test("a pooler gets none unless a setting says that it supports them", async () => {
    const pooler = await startTransactionPooler(database.url);
    stack.defer(() => pooler.close());
    const pooled = await open("auto", { url: pooler.url, connectionsMax: 4 });
    const all = () => Promise.all(Array.from({ length: 8 }, () => pooled.rows<[number]>(keptSql)));
    await all();
    for (const [[kept] = [1]] of await all()) assert.equal(kept, 0);
  });

  test("a pooler that turns out not to support them is detected and still works", async () => {
    const pooler = await startTransactionPooler(database.url);
    stack.defer(() => pooler.close());
    const pooled = await open("on", { url: pooler.url, connectionsMax: 8 });
    await pooled.rows("SELECT 1");
    for (let round = 0; round < 20; round += 1) {
      const all = Array.from({ length: 8 }, () =>
        pooled.transaction((transaction) => transaction.rows(thingsSql, [1])),
      );
      for (const rows of await Promise.all(all)) assert.deepEqual(rows, [[1]]);
    }
  });
});

const crowd = 20_000;
const few = 5;

/** Publishes, claims and settles a few deliveries in another lane, one by one. */
async function work(store: Store): Promise<void> {
  for (const ordering of ["none", "strict"] as const) {
    const own = lane("own", ordering);
    for (let done = 0; done < few; done += 1) {
      await commit(store, { publishes: [publishCommand({ deliveries: [{ lane: own }] })] });
      const { deliveries } = await claim(store, own);
      const settlements = deliveries.map(({ lease }) => settlement(lease, { attempt: newAttempt() }));
      await commit(store, { settlements });
    }
  }
}

async function fill(store: Store, count: number): Promise<void> {
  for (let done = 0; done < count; done += 500) {
    const publishes = Array.from({ length: 500 }, () =>
      publishCommand({ deliveries: [{ lane: lane("crowded") }] }),
    );
    await commit(store, { publishes });
  }
}

test("a plan that was made for nearly empty tables serves well when they are full", async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const open = () =>
    openPostgresStore({
      url: database.url,
      now: start,
      masterKeyIds: { current: "key", previous: [] },
    });
  const connections = async () => {
    const rows = await database.query("SELECT pid FROM pg_stat_activity WHERE datname = current_database()");
    return rows.map(({ pid }) => Number(pid));
  };
  /** Rows read by sequential scans or through an index. The server counts them when a session ends. */
  const rowsRead = async (): Promise<number> => {
    const [row] = await database.query(
      `SELECT (sum(seq_tup_read) + sum(idx_tup_fetch) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes
         WHERE relname IN ('queue', 'deliveries', 'events')))::int AS read
       FROM pg_stat_user_tables WHERE relname IN ('queue', 'deliveries', 'events')`,
    );
    return Number(row?.["read"]);
  };
  const planned = await open();
  await work(planned);
  // From now on, plans fit the current pages and rows. New statistics for any table of a statement would cause a new
  // plan.
  const tables = await database.query(
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'posthorn'::regnamespace",
  );
  for (const { relname } of tables)
    await database.query(`ALTER TABLE posthorn.${String(relname)} SET (autovacuum_enabled = off)`);
  // Otherwise autovacuum would summarise these indexes, and its reads would be counted as reads of the statements.
  for (const index of ["events_created", "deliveries_created"])
    await database.query(`ALTER INDEX posthorn.${index} SET (autosummarize = off)`);
  for (const table of ["queue", "deliveries", "events"])
    await database.query(`VACUUM (ANALYZE) posthorn.${table}`);
  await work(planned);
  t.after(() => planned.close());
  const others = new Set(await connections());
  const filling = await open();
  await fill(filling, crowd);
  const itsOwn = new Set(await connections()).difference(others);
  await filling.close();
  // A session reports its reads when it ends.
  await eventually("all its connections are gone", {
    ask: connections,
    holds: (pids) => itsOwn.isDisjointFrom(new Set(pids)),
  });
  const readBefore = await rowsRead();
  await work(planned);
  await planned.close();
  await eventually("all connections are gone", { ask: connections, holds: ({ length }) => length === 1 });
  const read = (await rowsRead()) - readBefore;
  assert.ok(read < crowd, `${read} rows were read`);
});
