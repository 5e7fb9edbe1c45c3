import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import { Readings } from "./readings.ts";
import { StoreProbe } from "./store-probe.ts";

test("a store that does not answer, or refuses, is away after a few seconds, and back with its first answer", async () => {
  for (const silence of [() => Promise.reject(new Error("gone")), () => new Promise<void>(() => undefined)]) {
    const clock = new ManualClock();
    let answer: () => Promise<void> = async () => undefined;
    const probe = new StoreProbe({ ping: () => answer() }, clock);
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1_000);
        await clock.turn();
      }
    };
    probe.start();
    await pass(60);
    assert.equal(probe.healthy, true);
    answer = silence;
    await pass(5);
    assert.equal(probe.healthy, false);
    probe.stop();
    const after = clock.timers;
    await pass(5);
    assert.equal(clock.timers, after);
  }
});

test("readiness names each dependency and role that is missing", () => {
  const store = {} as never;
  const activity = { storeHealthy: true, holds: true };
  const engine = { activity: () => activity } as never;
  const readings = (roles: readonly ("api" | "worker")[]) =>
    new Readings({ engine, store, settings: { roles, databaseUrl: null } });
  assert.deepEqual(readings(["api", "worker"]).readiness(), { ready: true, reasons: [] });
  activity.holds = false;
  assert.deepEqual(readings(["api"]).readiness(), { ready: true, reasons: [] });
  activity.storeHealthy = false;
  const draining = readings(["api", "worker"]);
  draining.isDraining = true;
  assert.deepEqual(draining.readiness(), {
    ready: false,
    reasons: ["draining", "store_unavailable", "worker_suspended"],
  });
});
