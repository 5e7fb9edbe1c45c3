import assert from "node:assert/strict";
import { test } from "node:test";
import type { Telemetry } from "../../ports/telemetry.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { createOwnership, type OwnershipParts } from "./create-ownership.ts";
import { ScriptedOwnershipStore } from "./member-scene.fixture.ts";

const nothing = (): void => {};

test("a restarted or replaced database is logged and counted; the worker joins again and reads everything", async () => {
  const clock = new ManualClock();
  const ownership = new ScriptedOwnershipStore();
  const warnings: string[] = [];
  const alarms: string[] = [];
  let rounds = 0;
  let restarted: () => void = () => assert.fail("nobody watches");
  const store = {
    ownership,
    watchRestarts: (listener: () => void) => {
      restarted = listener;
      return nothing;
    },
    webhooks: {
      page: async () => {
        rounds += 1;
        return [];
      },
      some: async () => [],
    },
  };
  const telemetry = {
    log: {
      debug: nothing,
      info: nothing,
      error: assert.fail,
      warn: (_: object, message: string) => void warnings.push(message),
    },
    metrics: { alarmed: (alarm: string) => void alarms.push(alarm) },
  } as unknown as Telemetry;
  const made = createOwnership({
    options: {
      store,
      clock,
      telemetry,
      delivers: true,
      random: { uniform: () => 0.5, bytes: (count: number) => new Uint8Array(count) },
    },
    directory: { all: () => [].values(), get: nothing, shareTenantLimits: nothing },
    dispatcher: { schedulePump: nothing },
    wakeups: {},
    notes: null,
    nextId: () => "process-1",
    flying: () => new Map(),
    storeReturned: () => void ownership.calls.push("write again"),
  } as unknown as OwnershipParts);
  await made.start();
  const before = { joins: joinsOf(ownership), rounds };
  assert.deepEqual([warnings, alarms], [[], []]);

  restarted();
  for (let turn = 0; turn < 5; turn += 1) await clock.turn();
  assert.deepEqual(alarms, ["store_restarted"]);
  assert.deepEqual(ownership.calls.slice(-3), ["write again", "join", "heartbeat 2"]);
  const [told, ...others] = warnings;
  assert.match(told ?? "", /database was restarted or replaced; reloading everything from it/);
  assert.deepEqual(others, ["the database was restarted; this worker rejoins"]);
  assert.deepEqual(
    { joins: joinsOf(ownership), rounds },
    { joins: before.joins + 1, rounds: before.rounds + 1 },
  );
});

function joinsOf({ calls }: ScriptedOwnershipStore): number {
  return calls.filter((call) => call === "join").length;
}
