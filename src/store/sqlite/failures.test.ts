import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import {
  claim,
  claimedIds,
  commit,
  idsOf,
  lane,
  newAttempt,
  only,
  progressed,
  publish,
  publishCommand,
  settle,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { everyDelivery } from "../../ports/store/search.ts";
import { type Store, StoreUnavailableError } from "../../ports/store.ts";
import { GatewayAnswers, GatewayRequestRows, RequestsBySource } from "./documents/gateway-log.ts";
import { ProblemWriter } from "./documents/problems.ts";
import { StatisticsWriter } from "./documents/statistics.ts";
import { Connection, openDatabase } from "./driver/connection.ts";
import { SqliteSql } from "./driver/sql.ts";
import { SqliteDeliveries } from "./events/deliveries.ts";
import { SqliteHistory } from "./lists/history.ts";
import { migrate } from "./migrations.ts";
import { databaseFile } from "./open.ts";
import { loadState } from "./state.ts";

/** The parts of a store that these tests use, and the underlying connection, which tests use to cause damage. */
interface BreakableStore {
  readonly store: Store;
  readonly db: DatabaseSync;
  readonly dataDir: string;
}

async function openBreakable(t: TestContext): Promise<BreakableStore> {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-failures-"));
  const db = openDatabase(databaseFile(dataDir), 0, () => undefined);
  migrate(db, start);
  const connection = new Connection(db);
  const state = loadState(connection);
  const sql = new SqliteSql(connection);
  const deliveries = new SqliteDeliveries(state, {
    statistics: new StatisticsWriter(state),
    problems: new ProblemWriter(connection),
    sql,
    requests: new GatewayRequestRows(connection, sql, new RequestsBySource(connection)),
    answers: new GatewayAnswers(connection),
  });
  t.after(async () => {
    connection.close();
    await rm(dataDir, { recursive: true });
  });
  return { store: { deliveries, history: new SqliteHistory(state) } as unknown as Store, db, dataDir };
}

const key = lane("webhook-1");
const bulky = {
  event: { body: new Uint8Array(1_000_000), tenantId: "new tenant" },
  deliveries: [{ lane: lane("new webhook"), claim: true }],
};

test("a full disk refuses the batch whole: no row, no lease, no counter, no number used", async (t) => {
  const { store, db } = await openBreakable(t);
  const { leases } = await publish(store, { deliveries: [{ claim: true }, { claim: true }] });
  const depth = await store.deliveries.depth();
  const pages = db.prepare("PRAGMA page_count").get()?.["page_count"];
  db.exec(`PRAGMA max_page_count = ${Number(pages) + 4}`);
  const batch = {
    publishes: [publishCommand({ ...bulky, event: {} }), publishCommand(bulky)],
    settlements: leases.map((lease) => settlement(lease, { attempt: newAttempt() })),
  };
  await assert.rejects(commit(store, batch), (error) => {
    assert.ok(error instanceof StoreUnavailableError);
    assert.match(error.message, /disk is full/);
    return true;
  });
  assert.deepEqual(await store.deliveries.depth(), depth);
  assert.deepEqual((await store.deliveries.lanesWithWork(null, 9)).lanes, [key]);
  // Once the disk has space again, the same batch succeeds with the same leases.
  db.exec("PRAGMA max_page_count = 1000000");
  const { publishes, settled } = await commit(store, batch);
  assert.deepEqual(settled, [{ kind: "written" }, { kind: "written" }]);
  assert.deepEqual(
    publishes.map((each) => each.kind === "accepted" && each.sequenceNumber),
    [2, 1],
  );
  assert.equal((await store.deliveries.depth()).waiting.normal, 2);
  const { deliveries } = await claim(store, lane("new webhook"), { now: start + 60_000 });
  assert.equal(deliveries.length, 2);
});

test("a statement that fails in mid-batch rolls back everything before it", async (t) => {
  const { store, db } = await openBreakable(t);
  const { leases } = await publish(store, { deliveries: [{ claim: true }, { claim: true }] });
  const [first, second] = leases;
  assert.ok(first !== undefined && second !== undefined);
  const broken = settlement(second, {
    attempt: newAttempt({ responseSample: Symbol("no value") as unknown as string }),
  });
  const command = publishCommand({
    event: { tenantId: "t", eventType: "never seen" },
    deliveries: [{ claim: true }],
  });
  await assert.rejects(commit(store, { publishes: [command], settlements: [settlement(first), broken] }));
  assert.equal(await store.history.getEvent(null, command.event.id), null);
  assert.equal((await store.deliveries.depth()).waiting.normal, 2);
  // The refused event's strings were stored in the transaction that was rolled back. The retry must store them again.
  const retried = await commit(store, {
    publishes: [command],
    settlements: [settlement(first), settlement(second)],
  });
  assert.deepEqual(retried.settled, [{ kind: "written" }, { kind: "written" }]);
  const stored = await store.history.getEvent("t", command.event.id);
  assert.equal(stored?.eventType, "never seen");
  assert.equal(stored?.sequenceNumber, 1);
  const strings = db
    .prepare("SELECT count(*) AS count FROM strings WHERE string IN ('t', 'never seen')")
    .get();
  assert.equal(strings?.["count"], 2);
});

test("an end that was refused leaves the delivery in its lane", async (t) => {
  const { store } = await openBreakable(t);
  await publish(store);
  const { lease, id } = only((await claim(store, key)).deliveries);
  const attempt = newAttempt({ id: Symbol("no value") as unknown as string });
  await assert.rejects(settle(store, lease, { attempt }));
  await store.deliveries.release([lease]);
  assert.deepEqual(claimedIds(await claim(store, key)), [id]);
});

test("a refused batch at the edge of a chunk does not hide the rows before it", async (t) => {
  const { store } = await openBreakable(t);
  const skipped = (count: number, createdAt: number) =>
    Array.from({ length: count }, () =>
      publishCommand({ event: { createdAt }, deliveries: [{ state: "skipped" }] }),
    );
  await commit(store, { publishes: skipped(4_090, start) });
  const broken = publishCommand({ event: { source: Symbol("no value") as unknown as string } });
  await assert.rejects(commit(store, { publishes: [...skipped(20, start + 1), broken] }));
  await commit(store, { publishes: skipped(1, start + 2) });
  assert.equal(await store.history.countDeliveries({ ...everyDelivery, to: start }, 10_000), 4_090);
});

test("leases that a refused batch had taken back protect their rows as before, oldest first", async (t) => {
  const { store, db } = await openBreakable(t);
  const { leases } = await publish(store, {
    deliveries: [{ claim: true }, { claim: true }, { claim: true }],
  });
  const attempt = newAttempt({ id: Symbol("no value") as unknown as string });
  await assert.rejects(
    commit(store, { settlements: leases.slice(0, 1).map((lease) => settlement(lease, { attempt })) }),
  );
  assert.deepEqual(claimedIds(await claim(store, key)), []);
  // A later commit stores the position from which the next startup must scan. It must still include the first lease.
  await publish(store, { deliveries: [{ state: "skipped" }] });
  const floor = db.prepare("SELECT fresh_floor FROM counters").get()?.["fresh_floor"];
  assert.equal(floor, leases[0]?.ref);
});

test("a database that another process locks is unavailable, and available again afterwards", async (t) => {
  const { store, dataDir } = await openBreakable(t);
  const { leases } = await publish(store, { deliveries: [{ claim: true }] });
  const other = new DatabaseSync(databaseFile(dataDir));
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(settle(store, only(leases)), (error) => {
    assert.ok(error instanceof StoreUnavailableError);
    assert.match(error.message, /locked/);
    return true;
  });
  // A writer does not block readers.
  assert.equal((await store.deliveries.depth()).waiting.normal, 1);
  other.exec("ROLLBACK");
  other.close();
  assert.equal(await settle(store, only(leases)), true);
});

test("a claim that fails gives back what it had leased", async (t) => {
  const { store, db } = await openBreakable(t);
  const { deliveries } = await publish(store, { deliveries: [{ dueAt: start - 1 }, {}] });
  const [good, bad] = idsOf(deliveries);
  db.prepare("UPDATE deliveries SET event = event + 1000 WHERE id = ?").run(bad ?? "");
  await assert.rejects(claim(store, key));
  assert.deepEqual(claimedIds(await claim(store, key, { limit: 1 })), [good]);
});

test("a lease that outlived its row in the index is released into its lane", async (t) => {
  const { store, db } = await openBreakable(t);
  const { leases, deliveries } = await publish(store, { deliveries: [{ claim: true }] });
  db.exec("PRAGMA query_only = 1");
  await assert.rejects(store.deliveries.release(leases), StoreUnavailableError);
  db.exec("PRAGMA query_only = 0");
  const progress = progressed({ state: "failed" });
  assert.equal(await settle(store, only(leases), { progress }), true);
  assert.deepEqual(claimedIds(await claim(store, key)), idsOf(deliveries));
});
