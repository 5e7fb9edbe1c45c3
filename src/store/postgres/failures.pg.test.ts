import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../test/conformance/store/postgres-database.fixture.ts";
import {
  claim,
  claimedIds,
  commit,
  idsOf,
  lane,
  minute,
  newAttempt,
  only,
  progressed,
  publish,
  publishCommand,
  settle,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { startTransactionPooler } from "../../../test/conformance/store/transaction-pooler.fixture.ts";
import type { StoreChange } from "../../ports/store/changes.ts";
import type { Store } from "../../ports/store.ts";
import { openPostgresStore } from "./open.ts";

const key = lane("webhook-1");
const unavailable = { name: "StoreUnavailableError" };

/** Resources that a test opens, closed in reverse order. */
function opened(t: TestContext): AsyncDisposableStack {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  return stack;
}

async function newDatabase(stack: AsyncDisposableStack): Promise<TestDatabase> {
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  return database;
}

async function openAt(stack: AsyncDisposableStack, url: string): Promise<Store> {
  const masterKeyIds = { current: "key", previous: [] };
  const store = await openPostgresStore({ url, now: start, masterKeyIds });
  stack.defer(() => store.close());
  return store;
}

async function openHere(t: TestContext): Promise<{ readonly database: TestDatabase; readonly store: Store }> {
  const stack = opened(t);
  const database = await newDatabase(stack);
  return { database, store: await openAt(stack, database.url) };
}

/** An operator's session that can hold locks. */
async function connectTo(t: TestContext, { url }: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  t.after(() => client.end().catch(() => undefined));
  return client;
}

const disconnectAll = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'posthorn%'`;

/** Resolves when a statement of the store waits for a lock. */
async function untilBlocked(database: TestDatabase): Promise<void> {
  for (;;) {
    const rows = await database.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (rows.length > 0) return;
  }
}

test("WDS-204 connections that were lost while idle are replaced", async (t) => {
  const { database, store } = await openHere(t);
  await publish(store);
  await database.query(disconnectAll);
  await store.ping().catch(() => undefined);
  await publish(store);
  assert.equal((await store.deliveries.depth()).waiting.normal, 2);
});

test("WDS-204 a connection that is lost before COMMIT is sent wrote nothing, and the commit can be repeated", async (t) => {
  const { database, store } = await openHere(t);
  const { leases } = await publish(store, { deliveries: [{ claim: true }] });
  const blocker = await connectTo(t, database);
  await blocker.query("BEGIN; LOCK TABLE posthorn.attempts");
  const batch = {
    publishes: [publishCommand(), publishCommand({ event: { tenantId: "acme" } })],
    settlements: leases.map((lease) => settlement(lease, { attempt: newAttempt() })),
  };
  const refused = assert.rejects(commit(store, batch), unavailable);
  await untilBlocked(database);
  await database.query(disconnectAll);
  await refused;
  await blocker.query("ROLLBACK");
  assert.equal((await store.deliveries.depth()).waiting.normal, 1);
  const { publishes, settled } = await commit(store, batch);
  assert.deepEqual(settled, [{ kind: "written" }]);
  assert.deepEqual(
    publishes.map((each) => each.kind === "accepted" && each.sequenceNumber),
    [2, 1],
  );
});

for (const { when, isWritten } of [
  { when: "before", isWritten: false },
  { when: "after", isWritten: true },
] as const) {
  test(`a connection that is lost after COMMIT is sent, ${when} the server executes it, reports the true outcome`, async (t) => {
    const stack = opened(t);
    const database = await newDatabase(stack);
    const pooler = await startTransactionPooler(database.url);
    stack.defer(() => pooler.close());
    const store = await openAt(stack, pooler.url);
    await publish(store);
    pooler.cutNextCommit(when);
    const command = publishCommand();
    const committing = commit(store, { publishes: [command] });
    if (isWritten) assert.equal(only((await committing).publishes).kind, "accepted");
    else await assert.rejects(committing, unavailable);
    const event = await store.history.getEvent(null, command.event.id);
    assert.equal(event !== null, isWritten);
    assert.equal((await store.deliveries.depth()).waiting.normal, isWritten ? 2 : 1);
  });
}

test("a deadlock with another session is resolved without an error for the caller", async (t) => {
  const { database, store } = await openHere(t);
  const events = ["a", "b"].map((tenantId) => ({ event: { tenantId } }));
  await commit(store, { publishes: events.map(publishCommand) });
  const other = await connectTo(t, database);
  const update = (position: number) =>
    `UPDATE posthorn.tenant_sequences SET sequence_last = sequence_last WHERE tenant =
       (SELECT tenant FROM posthorn.tenant_sequences ORDER BY tenant OFFSET ${position} LIMIT 1)`;
  await other.query(`BEGIN; ${update(1)}`);
  const committing = commit(store, { publishes: events.map(publishCommand) });
  await untilBlocked(database);
  // The session that waited first, which is the store's, also runs its deadlock check first.
  await other.query(update(0)).catch(() => undefined);
  await other.query("ROLLBACK");
  assert.deepEqual(
    (await committing).publishes.map((each) => each.kind === "accepted" && each.sequenceNumber),
    [2, 2],
  );
});

test("a database that became read-only is unavailable until it is not", async (t) => {
  const { database, store } = await openHere(t);
  const name = new URL(database.url).pathname.slice(1);
  await database.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await database.query(disconnectAll);
  await store.ping().catch(() => undefined);
  await assert.rejects(publish(store), unavailable);
  assert.equal((await store.deliveries.depth()).waiting.normal, 0);
  const operator = await connectTo(t, database);
  await operator.query("SET default_transaction_read_only = off");
  await operator.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  await database.query(disconnectAll);
  await store.ping().catch(() => undefined);
  await publish(store);
});

test("an answer with a character that PostgreSQL cannot store is settled", async (t) => {
  const { store } = await openHere(t);
  const { leases, deliveries } = await publish(store, { deliveries: [{ claim: true }] });
  const attempt = newAttempt({ responseSample: 'a\0"b\\', errorMessage: "\0" });
  assert.equal(await settle(store, only(leases), { attempt }), true);
  const [stored] = await store.history.listAttempts(only(deliveries).id);
  assert.equal(stored?.responseSample, 'a\uFFFD"b\\');
});

test("WDS-217 a second attempt with a number that is stored is refused, whatever month it is in", async (t) => {
  const { store } = await openHere(t);
  const { leases } = await publish(store, { deliveries: [{ claim: true }] });
  await settle(store, only(leases), { attempt: newAttempt(), progress: progressed({ state: "failed" }) });
  const { lease } = only((await claim(store, key)).deliveries);
  const again = newAttempt({ executedAt: start + 40 * 24 * 60 * minute });
  await assert.rejects(settle(store, lease, { attempt: again }), /attempt 1 .* is stored already/);
});

test("a delivery that was settled between the snapshot and the lock of a claim is not handed out", async (t) => {
  const { database, store } = await openHere(t);
  const { deliveries } = await publish(store, { deliveries: [{}, {}] });
  await database.query(
    "UPDATE posthorn.queue SET attempts = 7 WHERE delivery = (SELECT min(delivery) FROM posthorn.queue)",
  );
  assert.deepEqual(claimedIds(await claim(store, key)), idsOf(deliveries).slice(1));
  const free = await database.query("SELECT owner FROM posthorn.queue WHERE attempts = 7");
  assert.deepEqual(free, [{ owner: null }]);
});

test("a listener whose connection is lost reconnects and reports that it may have missed something", async (t) => {
  const { database, store } = await openHere(t);
  const heard: StoreChange[] = [];
  let told = Promise.withResolvers<StoreChange>();
  store.changes?.subscribe((change) => {
    heard.push(change);
    told.resolve(change);
  });
  await told.promise;
  told = Promise.withResolvers<StoreChange>();
  await database.query(disconnectAll);
  await told.promise;
  assert.deepEqual(heard, [{ kind: "unknown" }, { kind: "unknown" }]);
});
