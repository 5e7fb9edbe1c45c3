import assert from "node:assert/strict";
import { test } from "node:test";
import type { CommitBatch } from "../../src/ports/store/deliveries.ts";
import { openEngineWorld } from "./engine-world.fixture.ts";

const webhooks = 40;
const events = 300;
const rowsMax = 500;

test("a large batch for many webhooks is written in several transactions, and other callers get their turn in between", async (t) => {
  const world = await openEngineWorld({ delivers: false, limits: { commitRowsMax: rowsMax } });
  t.after(() => world.close());
  for (let index = 0; index < webhooks; index += 1)
    await world.addWebhook({ url: `http://127.0.0.1:9/${index}`, events: ["order.paid"] });
  const commits: { readonly rows: number; readonly turn: number }[] = [];
  let turn = 0;
  const turns = (): void => {
    turn += 1;
    if (turn > 0) setImmediate(turns);
  };
  setImmediate(turns);
  t.after(() => (turn = Number.NEGATIVE_INFINITY));
  const begun = Promise.withResolvers<null>();
  const { deliveries } = world.store;
  const commit = deliveries.commit.bind(deliveries);
  t.mock.method(deliveries, "commit", (batch: CommitBatch) => {
    const rows = batch.publishes.reduce((sum, command) => sum + 1 + command.deliveries.length, 0);
    if (rows > 0) commits.push({ rows, turn });
    begun.resolve(null);
    return commit(batch);
  });

  const batch = world.engine.publisher.publishMany(
    { tenantId: "default" },
    Array.from({ length: events }, (_, index) => ({ eventType: "order.paid", data: { index } })),
  );
  await begun.promise;
  let other: number | null = null;
  const single = world.engine.publisher
    .publish({ tenantId: "other" }, { eventType: "order.paid", data: { mine: true } })
    .then(() => (other = commits.length));
  const entries = await batch;
  await single;

  assert.ok(entries.every((entry) => entry.kind === "published" && entry.receipt.deliveries === webhooks));
  const numbers = entries.map((entry) => (entry.kind === "published" ? entry.receipt.sequenceNumber : 0));
  assert.deepEqual(
    numbers,
    Array.from({ length: events }, (_, index) => index + 1),
    "in the order of the batch",
  );
  assert.ok(Math.max(...commits.map(({ rows }) => rows)) <= rowsMax);
  assert.equal(new Set(commits.map((made) => made.turn)).size, commits.length, "no two in the same turn");
  assert.ok(
    other !== null && other <= commits.length / 2,
    `the other's event was in commit ${other} of ${commits.length}`,
  );
});
