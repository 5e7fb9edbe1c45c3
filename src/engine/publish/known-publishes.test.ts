import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedMemory } from "../../../test/conformance/shared-state/in-process-shared-state.fixture.ts";
import type { PublishKey, RememberedPublish } from "../../ports/shared-state.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { KnownPublishes } from "./known-publishes.ts";

const publish: RememberedPublish = {
  fingerprint: "same",
  id: "event-1",
  eventType: "order.paid",
  timestamp: 1,
  sequenceNumber: 2,
  deliveries: 3,
};

function keyOf(idempotencyKey: string): PublishKey {
  return { tenantId: "acme", idempotencyKey };
}

/** One process with a shared state in memory. `calls` contains the keys passed in each call. */
function scene() {
  const clock = new ManualClock();
  const memory = new SharedMemory({ now: () => clock.now() });
  const state = memory.open();
  const calls: string[][] = [];
  const warnings: string[] = [];
  const given = { trouble: async (): Promise<void> => undefined };
  const nothing = (): void => undefined;
  const warn = (_: unknown, text: string): void => void warnings.push(text);
  const known = new KnownPublishes(
    {
      clock,
      telemetry: { log: { debug: nothing, info: nothing, warn, error: nothing }, metrics: {} as never },
    },
    {
      publishes: {
        recall: async (keys) => {
          calls.push(keys.map(({ idempotencyKey }) => idempotencyKey));
          await given.trouble();
          return state.publishes.recall(keys);
        },
        remember: async (entries) => {
          calls.push(entries.map(({ key }) => `remember ${key.idempotencyKey}`));
          await given.trouble();
          return state.publishes.remember(entries);
        },
      },
      get isAvailable() {
        return state.isAvailable;
      },
    },
  );
  const remember = (name: string): void => {
    known.remember({ key: keyOf(name), publish, until: clock.now() + 1_000 });
  };
  return { clock, memory, known, calls, warnings, given, remember };
}

test("publishes are known by key until their time, and are looked up in one call per turn", async () => {
  const { clock, known, calls, remember } = scene();
  remember("a");
  remember("b");
  await clock.turn();
  const found = ["a", "b", "c"].map((name) => known.recall(keyOf(name)));
  await clock.turn();
  assert.deepEqual(await Promise.all(found), [publish, publish, null]);
  assert.deepEqual(calls, [
    ["remember a", "remember b"],
    ["a", "b", "c"],
  ]);
  clock.advance(1_000);
  const late = known.recall(keyOf("a"));
  await clock.turn();
  assert.equal(await late, null);
  assert.equal(clock.timers, 0);
});

test("no caller waits for a state that is unavailable, slow or broken", async () => {
  const { clock, memory, known, calls, warnings, given, remember } = scene();
  memory.disconnect();
  remember("a");
  assert.equal(await known.recall(keyOf("a")), null);
  await clock.turn();
  assert.deepEqual(calls, []);
  memory.reconnect();
  given.trouble = () => new Promise(() => undefined);
  const slow = known.recall(keyOf("a"));
  await clock.turn();
  clock.advance(50);
  assert.equal(await slow, null);
  given.trouble = () => Promise.reject(new Error("broken"));
  remember("a");
  const broken = known.recall(keyOf("a"));
  await clock.turn();
  assert.equal(await broken, null);
  assert.equal(warnings.length, 2);
});

test("at the end waiting callers use the store, and committed publishes are still announced", async () => {
  const { clock, memory, known, given, remember } = scene();
  given.trouble = () => new Promise(() => undefined);
  const first = known.recall(keyOf("a"));
  await clock.turn();
  const second = known.recall(keyOf("b"));
  known.pause();
  assert.deepEqual(await Promise.all([first, second, known.recall(keyOf("c"))]), [null, null, null]);
  given.trouble = async () => undefined;
  remember("a");
  await known.stop();
  assert.equal(memory.publishes.size, 1);
});
