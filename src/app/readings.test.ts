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
  const workQueue = { isConnected: true };
  const sharedState = { isAvailable: true };
  const companions = { workQueue, sharedState };
  const readings = (roles: readonly ("api" | "worker")[], phase: Readings["phase"] = "running") => {
    const settings = { roles, databaseUrl: null };
    const made = new Readings({ engine, store, companions, settings });
    made.phase = phase;
    return made;
  };
  assert.deepEqual(readings(["api", "worker"]).readiness(), { ready: true, reasons: [] });
  workQueue.isConnected = false;
  sharedState.isAvailable = false;
  const poorer = ["queue_unavailable", "shared_state_unavailable"];
  assert.deepEqual(readings(["worker"]).readiness(), { ready: true, reasons: poorer });
  activity.holds = false;
  // It has not joined the others yet, which is no news.
  const starting = { ready: false, reasons: ["starting", ...poorer] };
  assert.deepEqual(readings(["worker"], "starting").readiness(), starting);
  workQueue.isConnected = true;
  sharedState.isAvailable = true;
  assert.deepEqual(readings(["api"]).readiness(), { ready: true, reasons: [] });
  activity.storeHealthy = false;
  assert.deepEqual(readings(["api", "worker"], "draining").readiness(), {
    ready: false,
    reasons: ["draining", "store_unavailable", "worker_suspended"],
  });
});
