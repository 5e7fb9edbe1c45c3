import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../test/conformance/store/postgres-database.fixture.ts";
import { start } from "../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import type { Heartbeat, OwnershipStore } from "../../ports/store/ownership.ts";
import { openPostgresStore } from "./open.ts";

const masterKeyIds = { current: "key", previous: [] };
const waitingSql =
  "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

interface Worker {
  readonly ownership: OwnershipStore;
  readonly worker: number;
}

interface Scene {
  readonly database: TestDatabase;
  readonly workers: readonly Worker[];
  /** A session that locks the rows of all workers. */
  readonly blocker: pg.Client;
}

/** Several workers, each in a separate process. */
async function openScene(t: TestContext, life: { readonly aliveMs: number }): Promise<Scene> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const workers: Worker[] = [];
  for (let count = 0; count < 3; count += 1) {
    const store = await openPostgresStore({ url: database.url, now: start, masterKeyIds });
    stack.defer(() => store.close());
    assert.ok(store.ownership !== undefined);
    const worker = await store.ownership.join({ ...life, pool: "default" });
    workers.push({ ownership: store.ownership, worker });
  }
  const blocker = new pg.Client({ connectionString: database.url });
  await blocker.connect();
  stack.defer(() => blocker.end());
  await blocker.query("BEGIN; SELECT FROM posthorn.workers FOR UPDATE");
  return { database, workers, blocker };
}

test("workers whose heartbeats were blocked beyond their lifetime all continue as soon as they can", async (t) => {
  const aliveMs = 1;
  const { database, workers, blocker } = await openScene(t, { aliveMs });
  const answered = (each: Worker): Promise<Heartbeat | null> =>
    eventually("it is heard", {
      ask: () => each.ownership.heartbeat({ worker: each.worker, aliveMs }).catch(() => "not heard" as const),
      holds: (answer) => answer !== "not heard",
    }) as Promise<Heartbeat | null>;
  const heartbeats = workers.map(answered);
  await eventually("all wait for the lock", {
    ask: () => database.query(waitingSql),
    holds: (rows) => rows.length === workers.length,
  });
  await blocker.query("COMMIT");
  for (const heartbeat of await Promise.all(heartbeats))
    assert.notEqual(heartbeat, null, "it was considered dead");
});

test("a heartbeat that waits for a lock is cancelled, in the server too", async (t) => {
  const { database, workers } = await openScene(t, { aliveMs: 60_000 });
  const [first] = workers;
  assert.ok(first !== undefined);
  const unavailable = { name: "StoreUnavailableError", outcome: "nothing", message: /lock/ };
  await assert.rejects(first.ownership.heartbeat({ worker: first.worker, aliveMs: 60_000 }), unavailable);
  assert.equal((await database.query(waitingSql)).length, 0);
});

test("dead workers are reaped although other rows are locked", async (t) => {
  const { database, workers, blocker } = await openScene(t, { aliveMs: 60_000 });
  await blocker.query("ROLLBACK");
  const [living, locked, dead] = workers;
  assert.ok(living !== undefined && locked !== undefined && dead !== undefined);
  await database.query(
    `UPDATE posthorn.workers SET alive_until = now() - interval '1 s' WHERE worker IN (${locked.worker}, ${dead.worker})`,
  );
  await blocker.query(`BEGIN; SELECT FROM posthorn.workers WHERE worker = ${locked.worker} FOR UPDATE`);
  await living.ownership.heartbeat({ worker: living.worker, aliveMs: 60_000 });
  await blocker.query("COMMIT");
  const left = await database.query("SELECT worker FROM posthorn.workers ORDER BY worker");
  assert.deepEqual(left, [{ worker: living.worker }, { worker: locked.worker }]);
});
