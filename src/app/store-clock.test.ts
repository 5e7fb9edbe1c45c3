import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import { StoreClock } from "./store-clock.ts";

const nothing = (): void => undefined;

function openScene() {
  const machine = new ManualClock();
  const scene = { machine, aheadMs: 0, isAway: false, warnings: 0 };
  const clock = new StoreClock({
    clock: machine,
    time: async () => {
      if (scene.isAway) throw new Error("away");
      return machine.now() + scene.aheadMs;
    },
    log: { debug: nothing, info: nothing, error: nothing, warn: () => void (scene.warnings += 1) },
  });
  return { scene, clock, machine };
}

suite("the clock that a deployment shares", () => {
  test("a machine that is 90 s slow uses the database's clock to decide what is due, and logs this once", async () => {
    const { scene, clock, machine } = openScene();
    scene.aheadMs = 90_000;
    await clock.start();
    await clock.start();
    assert.equal(clock.now(), machine.now() + 90_000);
    assert.equal(clock.offsetMs, 90_000);
    assert.equal(scene.warnings, 1);
    clock.stop();
  });

  test("a small clock difference is logged but not corrected, and a correction ends when the clocks agree", async () => {
    const { scene, clock, machine } = openScene();
    scene.aheadMs = -900;
    await clock.start();
    assert.deepEqual([clock.now() - machine.now(), clock.offsetMs, scene.warnings], [0, -900, 0]);
    scene.aheadMs = -90_000;
    await clock.start();
    assert.equal(clock.now() - machine.now(), -90_000);
    scene.isAway = true;
    await clock.start();
    assert.equal(clock.now() - machine.now(), -90_000);
    scene.isAway = false;
    scene.aheadMs = 3;
    await clock.start();
    assert.deepEqual([clock.now() - machine.now(), clock.offsetMs, scene.warnings], [0, 3, 1]);
    clock.stop();
  });
});
