/** The order of the outbox on PostgreSQL with two concurrent claimers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import {
  createPostgresOutboxStore,
  createPostgresOutboxTable,
} from "../../src/client/outbox/postgres-store.ts";
import { openOwnSchema } from "../receiver/own-schema.fixture.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";

const now = 1_800_000_000_000;
const claimAs = (token: string, at = now) => [token, at, now + 60_000, 100] as const;

test("a claim that began before another one was committed gets nothing newer than the other", async (t) => {
  const { pool, drop, url } = await openOwnSchema();
  t.after(drop);
  await createPostgresOutboxTable(pool);
  const store = createPostgresOutboxStore(pool);
  for (const id of ["1", "2"]) await store.put(id, "{}");

  // The first process has claimed, but its transaction is not committed yet.
  const connection = new pg.Client({ connectionString: url });
  await connection.connect();
  t.after(() => connection.end());
  await connection.query("BEGIN");
  const first = createPostgresOutboxStore(connection);
  assert.deepEqual(
    (await first.claim(...claimAs("first"))).map(({ id }) => id),
    ["1", "2"],
  );

  await store.put("3", "{}");
  const second = store.claim(...claimAs("second"));
  await eventually("the second claim waits for the first", {
    ask: () =>
      pool.query(
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      ),
    holds: ({ rowCount }) => rowCount === 1,
  });
  await connection.query("COMMIT");
  assert.deepEqual(await second, [], "3 must not overtake 1 and 2");

  await store.done("first", ["1", "2"]);
  const [entry, ...more] = await store.claim(...claimAs("third"));
  assert.deepEqual([entry?.id, entry?.attempts, more.length], ["3", 1, 0]);
});

test("newer events wait while an older one waits for its time", async (t) => {
  const { pool, drop } = await openOwnSchema();
  t.after(drop);
  await createPostgresOutboxTable(pool);
  const store = createPostgresOutboxStore(pool);
  await store.put("1", "{}");
  await store.claim(...claimAs("first"));
  await store.release("first", ["1"], now + 1_000);
  await store.put("2", "{}");
  assert.deepEqual(await store.claim(...claimAs("second")), []);
  assert.deepEqual(
    (await store.claim(...claimAs("third", now + 1_000))).map(({ id }) => id),
    ["1", "2"],
  );
});
