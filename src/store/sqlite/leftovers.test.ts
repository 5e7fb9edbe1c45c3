import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import {
  claim,
  commit,
  day,
  lane,
  newAttempt,
  newDelivery,
  publish,
  publishSettled,
  requeue,
  runToEnd,
  settle,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { Connection } from "./driver/connection.ts";
import { LaneQueue } from "./events/lane-queue.ts";
import { migrate } from "./migrations.ts";
import { databaseFile, openSqliteStore } from "./open.ts";

function counts(dataDir: string, tables: readonly string[]): Readonly<Record<string, unknown>> {
  const db = new DatabaseSync(databaseFile(dataDir), { readOnly: true });
  const rows = tables.map((table) => [
    table,
    db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"],
  ]);
  db.close();
  return Object.fromEntries(rows);
}

test("removed history leaves nothing behind, and lanes hold few entries of ended deliveries", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-leftovers-"));
  t.after(() => rm(dataDir, { recursive: true }));
  const store = await openSqliteStore({ dataDir, now: start, pid: process.pid });
  t.after(() => store.close());
  const { event } = await publishSettled(store, {}, { attempt: newAttempt() });
  const replay = newDelivery({ origin: "replay" });
  await requeue(store, { eventId: event.id, deliveries: [replay] });
  await publish(store, { deliveries: Array.from({ length: 100 }, () => ({})) });
  const { deliveries } = await claim(store, lane("webhook-1"), { limit: 200 });
  assert.equal(deliveries.length, 101);
  for (const { lease } of deliveries.slice(0, 50)) await settle(store, lease, { attempt: newAttempt() });
  await commit(store, { settlements: deliveries.slice(50, 95).map(({ lease }) => settlement(lease)) });
  for (const { lease } of deliveries.slice(95)) await settle(store, lease);
  assert.ok(Number(counts(dataDir, ["lane_entries"])["lane_entries"]) < 16);

  await runToEnd(() =>
    store.upkeep.forgetHistory({ createdBefore: start + day, now: start + day, limit: 7 }),
  );
  const tables = ["events", "deliveries", "attempts", "event_requeues"];
  assert.deepEqual(counts(dataDir, tables), { events: 0, deliveries: 0, attempts: 0, event_requeues: 0 });
});

test("spent entries are removed in groups, from the file and from memory", (t) => {
  const db = new DatabaseSync(":memory:");
  t.after(() => db.close());
  migrate(db, start);
  db.exec(
    `INSERT INTO deliveries (seq, id, event, tenant, webhook, lane, state, priority, origin, attempt_count, created_at, due_at)
     SELECT value, value, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0 FROM json_each('[1,2,3,4,5,6,7,8,9]')`,
  );
  const connection = new Connection(db);
  const queue = new LaneQueue(connection);
  const lanes = Array.from({ length: 1_000 }, (_, index) => index + 1);
  const entries = lanes.flatMap((each) =>
    [1, 2, 3, 4, 5, 6, 7, 8, 9].map((seq) => ({ lane: each, queuePosition: seq, seq })),
  );
  connection.write(() => {
    for (const entry of entries) queue.insert(entry);
  });
  const left = () => Number(db.prepare("SELECT count(*) AS count FROM lane_entries").get()?.["count"]);
  connection.write(() => {
    for (const entry of entries.slice(0, 8_000)) queue.spend(entry);
  });
  assert.equal(left(), 9_000);
  assert.equal(queue.spentIn(1), 9);
  assert.equal(queue.laneAfter(0), 889);
  // Together, the lanes exceed the limit, although none of them does on its own.
  connection.write(() => {
    for (const entry of entries.slice(8_000, 8_500)) queue.spend(entry);
  });
  assert.equal(left(), 500);
  assert.equal(queue.spentIn(1), 0);
});
