import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";
import { createSystemRandom } from "./random.ts";

test("a timer fires once, never synchronously and not before its time", async () => {
  const start = systemClock.monotonicMs();
  let calls = 0;
  await new Promise<void>((resolve) => {
    systemClock.schedule(5, () => {
      calls += 1;
      resolve();
    });
    assert.equal(calls, 0);
  });
  assert.ok(systemClock.monotonicMs() - start >= 4);
  assert.equal(calls, 1);
});

test("a cancelled timer never fires, and a delay beyond 31 bits waits instead of firing at once", async () => {
  let fired = false;
  const cancelled = systemClock.schedule(1, () => (fired = true));
  cancelled.cancel();
  cancelled.cancel();
  const far = systemClock.schedule(2 ** 40, () => (fired = true));
  await new Promise<void>((resolve) => void systemClock.schedule(10, resolve));
  far.cancel();
  assert.equal(fired, false);
});

test("defer runs after the current turn", async () => {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    systemClock.defer(() => {
      order.push("deferred");
      resolve();
    });
    queueMicrotask(() => order.push("microtask"));
    order.push("now");
  });
  assert.deepEqual(order, ["now", "microtask", "deferred"]);
});

test("EDS-9.6-2 two random sources draw independently, between 0 and 1", () => {
  const draw = (random = createSystemRandom()) => Array.from({ length: 200 }, () => random.uniform());
  const [one, other] = [draw(), draw()];
  assert.ok([...one, ...other].every((value) => value >= 0 && value < 1));
  assert.equal(new Set([...one, ...other]).size, 400);
  assert.ok(Math.min(...one) < 0.2 && Math.max(...one) > 0.8, "spread over all of it");
});

test("random bytes have the requested length, differ, and belong to the caller", () => {
  const random = createSystemRandom();
  const seen = new Set<string>();
  for (let round = 0; round < 2_000; round += 1) seen.add(Buffer.from(random.bytes(16)).toString("hex"));
  assert.equal(seen.size, 2_000);
  for (const count of [0, 1, 8_191, 8_192, 8_193, 100_000]) assert.equal(random.bytes(count).length, count);
  const first = random.bytes(32);
  const copy = Uint8Array.from(first);
  random.bytes(32).fill(7);
  assert.deepEqual(first, copy);
  assert.ok(first.buffer.byteLength === 32, "a view of the pool would show other secrets");
  const value = random.uniform();
  assert.ok(value >= 0 && value < 1);
});
