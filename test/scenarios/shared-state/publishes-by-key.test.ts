import assert from "node:assert/strict";
import { test } from "node:test";
import { SeveralEngines } from "./several-engines.fixture.ts";

const event = { eventType: "order.paid", data: { id: 1 }, idempotencyKey: "order 1" };
const acme = { tenantId: "acme" };
const dayMs = 86_400_000;

/** Two processes with separate stores, so that a repeat can be detected only through the shared state. */
async function two() {
  const several = await SeveralEngines.start({ seed: 1, engines: 2 });
  const [first, second] = several.engines;
  assert.ok(first !== undefined && second !== undefined);
  const original = await several.until(first.publisher.publish(acme, event));
  await several.pass(100);
  return { several, first, second, original };
}

test("WDS-174 a repeat of a publish by another process is answered without the store", async () => {
  const { several, second, original } = await two();
  const repeated = await several.until(second.publisher.publish(acme, event));
  assert.deepEqual(repeated, { ...original, duplicate: true });
  const other = { ...event, data: { id: 2 } };
  await assert.rejects(several.until(second.publisher.publish(acme, other)), { code: "event_key_reused" });
  const foreign = await several.until(second.publisher.publish({ tenantId: "other" }, other));
  assert.equal(foreign.duplicate, false, "keys are those of one tenant");
  await several.stop();
});

test("WDS-174 the shared state expires a key when the store does", async () => {
  const { several, second } = await two();
  await several.pass(dayMs - 1_000);
  assert.equal((await several.until(second.publisher.publish(acme, event))).duplicate, true);
  await several.pass(2_000);
  assert.equal((await several.until(second.publisher.publish(acme, event))).duplicate, false);
  await several.stop();
});

test("publishes found in the store are stored in the shared state, until they expire", async () => {
  const { several, first, second } = await two();
  several.memory.forget();
  await several.pass(dayMs / 2);
  assert.equal((await several.until(first.publisher.publish(acme, event))).duplicate, true);
  await several.pass(100);
  assert.equal((await several.until(second.publisher.publish(acme, event))).duplicate, true);
  await several.pass(dayMs / 2);
  assert.equal(several.memory.publishes.size, 1);
  assert.equal((await several.until(second.publisher.publish(acme, event))).duplicate, false);
  await several.stop();
});

test("a flushed or absent shared state changes nothing: the store decides", async () => {
  const { several, first, original } = await two();
  several.memory.forget();
  assert.equal((await several.until(first.publisher.publish(acme, event))).id, original.id);
  several.memory.disconnect();
  assert.deepEqual(await several.until(first.publisher.publish(acme, event)), {
    ...original,
    duplicate: true,
  });
  await several.stop();
});

test("the keys of a batch are looked up together, and events without a key not at all", async () => {
  const { several, second } = await two();
  several.calls.length = 0;
  const inputs = Array.from({ length: 50 }, (_, n) => ({ ...event, idempotencyKey: `order ${n + 1}` }));
  const entries = await several.until(second.publisher.publishMany(acme, inputs));
  assert.ok(entries.every(({ kind }) => kind === "published"));
  await several.pass(10);
  assert.deepEqual(several.calls, [
    { name: "recall", entries: 50 },
    { name: "remember", entries: 49 },
  ]);
  const { idempotencyKey: _, ...unkeyed } = event;
  await several.until(second.publisher.publish(acme, unkeyed));
  assert.equal(several.calls.length, 2);
  await several.stop();
});

test("two concurrent publishes with one key are one event", async () => {
  const { several, second } = await two();
  const fresh = { ...event, idempotencyKey: "order 2" };
  const both = several.until(
    Promise.allSettled([second.publisher.publish(acme, fresh), second.publisher.publish(acme, fresh)]),
  );
  const [one, other] = await both;
  assert.equal(one.status, "fulfilled");
  assert.equal(other.status === "rejected" && other.reason.code, "event_in_progress");
  await several.stop();
});
