import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import { type StoreTrouble, StoreUnavailableError } from "../ports/store.ts";
import type { Shortage } from "../ports/transport.ts";
import { Readings, StoreProbe } from "./readings.ts";

test("a store that fails or does not respond is unavailable after a few seconds, and available with its first response", async () => {
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
    assert.equal(probe.trouble, null);
    answer = silence;
    await pass(5);
    assert.equal(probe.trouble, "away");
    probe.stop();
    const after = clock.timers;
    await pass(5);
    assert.equal(clock.timers, after);
  }
});

test("a store that reports why it cannot write is unavailable at once, with that reason", async () => {
  const clock = new ManualClock();
  let answer: () => Promise<void> = () =>
    Promise.reject(new StoreUnavailableError("a standby", { trouble: "standby" }));
  const probe = new StoreProbe({ ping: () => answer() }, clock);
  probe.start();
  clock.advance(1_000);
  await clock.turn();
  assert.equal(probe.trouble, "standby");
  answer = async () => undefined;
  clock.advance(1_000);
  await clock.turn();
  assert.equal(probe.trouble, null);
  probe.stop();
});

test("readiness names each missing dependency and role", (t) => {
  const store = { ping: async () => undefined } as never;
  const activity = {
    storeTrouble: null as StoreTrouble | null,
    shortage: null as Shortage | null,
    holds: true,
  };
  const engine = { activity: () => activity } as never;
  const workQueue = { isConnected: true };
  const sharedState = { isAvailable: true };
  const companions = { workQueue, sharedState };
  const readings = (roles: readonly ("api" | "worker")[], phase: Readings["phase"] = "running") => {
    const settings = { roles };
    const made = new Readings({ engine, store, companions, settings });
    t.after(() => made.stop());
    made.phase = phase;
    return made;
  };
  assert.deepEqual(readings(["api", "worker"]).readiness(), { ready: true, reasons: [], details: [] });
  workQueue.isConnected = false;
  sharedState.isAvailable = false;
  const poorer = ["queue_unavailable", "shared_state_unavailable"];
  assert.deepEqual(readings(["worker"]).readiness(), { ready: true, reasons: poorer, details: [] });
  activity.holds = false;
  // A starting worker has not joined the other workers yet, so it is not reported as suspended.
  const starting = { ready: false, reasons: ["starting", ...poorer], details: [] };
  assert.deepEqual(readings(["worker"], "starting").readiness(), starting);
  workQueue.isConnected = true;
  sharedState.isAvailable = true;
  assert.deepEqual(readings(["api"]).readiness(), { ready: true, reasons: [], details: [] });
  activity.storeTrouble = "away";
  assert.deepEqual(readings(["api", "worker"], "draining").readiness(), {
    ready: false,
    reasons: ["draining", "store_unavailable", "worker_suspended"],
    details: [],
  });
  activity.holds = true;
  activity.storeTrouble = "disk_full";
  const { ready, reasons, details } = readings(["api"]).readiness();
  assert.deepEqual({ ready, reasons }, { ready: false, reasons: ["store_unavailable", "disk_full"] });
  assert.match(details.join(), /disk .* is full; free some space/);
  activity.storeTrouble = "standby";
  const standby = readings(["api"]).readiness();
  assert.deepEqual(standby.reasons, ["store_unavailable", "store_is_standby"]);
  assert.match(standby.details.join(), /standby/);
  activity.storeTrouble = null;
  activity.shortage = "descriptors";
  const short = readings(["api"]).readiness();
  assert.deepEqual([short.ready, short.reasons], [true, ["local_shortage"]]);
  assert.match(short.details.join(), /ulimit -n/);
});
