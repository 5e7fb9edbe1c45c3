import assert from "node:assert/strict";
import { test } from "node:test";
import { PosthornError } from "../../src/domain/errors.ts";
import { StoreUnavailableError } from "../../src/ports/store.ts";
import type { CommitBatch } from "../../src/ports/store/deliveries.ts";
import { admin, openWorld } from "./world.fixture.ts";

const hourMs = 3_600_000;
const minuteMs = 60_000;

test("WDS-174 EDS-7.2-7 WDS-8 WDS-115 a publisher's key identifies one event for 24 hours, even across a restart", async (t) => {
  const world = await openWorld(t);
  await world.createWebhook();
  const event = { eventType: "order.created", data: { id: 1 }, idempotencyKey: "order 1" };
  const first = await world.engine.publisher.publish(admin, event);
  world.skipTime(24 * hourMs - minuteMs);
  await world.restart();
  const repeated = await world.engine.publisher.publish(admin, event);
  assert.deepEqual([repeated.id, repeated.duplicate], [first.id, true]);
  await assert.rejects(world.engine.publisher.publish(admin, { ...event, data: { id: 2 } }), /already|used/i);
  world.skipTime(2 * minuteMs);
  const later = await world.engine.publisher.publish(admin, { ...event, data: { id: 2 } });
  assert.equal(later.duplicate, false);
  await world.until(() => world.requests.length === 2);
});

test("EDS-7.2-6 EDS-7.2-8 IDK-3 IDK-12 every event has its own key on the wire, whatever the publisher's key", async (t) => {
  const world = await openWorld(t);
  await world.createWebhook();
  // The publisher may reuse its key after a day. The key that receivers see may not be reused.
  for (let count = 0; count < 3; count += 1) {
    await world.publish({ idempotencyKey: "again", data: { count } });
    world.skipTime(25 * hourMs);
  }
  for (let count = 0; count < 20; count += 1) await world.publish();
  await world.until(() => world.requests.length === 23);
  const keys = world.requests.map(({ headers }) => headers[headers.indexOf("Idempotency-Key") + 1]);
  assert.equal(new Set(keys).size, 23);
  assert.ok(keys.every((key) => /^"[0-9a-f-]{36}"$/.test(key ?? "")));
});

test("if the store does not say whether it wrote, a publish neither succeeds nor fails, and its repeat is the same event", async (t) => {
  const world = await openWorld(t);
  const { deliveries } = world.store;
  const commit = deliveries.commit.bind(deliveries);
  const lost = t.mock.method(deliveries, "commit", async (batch: CommitBatch) => {
    await commit(batch);
    throw new StoreUnavailableError("connection lost", { outcome: "unknown" });
  });
  const event = { eventType: "order.created", data: { id: 1 }, idempotencyKey: "order 1" };
  const nobodyKnows = (error: unknown): boolean =>
    error instanceof PosthornError &&
    error.status === 503 &&
    /outcome of the write is unknown.*same idempotency key/.test(error.message);
  await assert.rejects(world.engine.publisher.publish(admin, event), nobodyKnows);
  const [entry] = await world.engine.publisher.publishMany(admin, [{ ...event, idempotencyKey: "order 2" }]);
  assert.ok(entry?.kind === "refused" && nobodyKnows(entry.error));
  lost.mock.restore();
  for (const idempotencyKey of ["order 1", "order 2"]) {
    const { duplicate } = await world.engine.publisher.publish(admin, { ...event, idempotencyKey });
    assert.equal(duplicate, true);
  }
});
