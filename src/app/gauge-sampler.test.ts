import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StatisticsStep } from "../domain/statistics/facts.ts";
import { gaugeNames, type GaugeReading, type GaugeSpan } from "../domain/statistics/gauges.ts";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import type { GaugeRow } from "../ports/store/statistics.ts";
import { GaugeSampler } from "./gauges.ts";

const nothing = (): void => undefined;

function openScene() {
  const clock = new ManualClock();
  const scene = { value: 0, isAway: false, warnings: 0, written: [] as GaugeRow[] };
  const sampler = new GaugeSampler({
    clock,
    random: { bytes: (count: number) => new Uint8Array(count) } as never,
    log: { debug: nothing, info: nothing, error: nothing, warn: () => void (scene.warnings += 1) },
    store: {
      writeGauges: async (row) => {
        if (scene.isAway) throw new Error("away");
        scene.written.push(row);
      },
    },
    read: async () =>
      Object.fromEntries(gaugeNames.map((name) => [name, scene.value])) as unknown as GaugeReading,
  });
  /** Samples this value at each of these times, in Unix milliseconds. */
  const readAt = async (times: readonly number[], value: number): Promise<void> => {
    scene.value = value;
    for (const time of times) {
      clock.advance(time - clock.now());
      await clock.turn();
    }
  };
  const last = (step: StatisticsStep): GaugeSpan["readings"]["in_flight"] => {
    const row = scene.written.findLast((each) => each.step === step);
    return row === undefined ? undefined : (JSON.parse(row.document) as GaugeSpan).readings.in_flight;
  };
  return { scene, clock, sampler, readAt, last };
}

suite("readings for statistics", () => {
  test("the first reading is written at once, later ones after each minute, with the hour and the day", async () => {
    const { scene, clock, sampler, readAt, last } = openScene();
    clock.advance(60_000 - (clock.now() % 60_000));
    const begun = clock.now();
    sampler.start();
    await readAt([begun], 5);
    assert.deepEqual(
      scene.written.map(({ step }) => step),
      ["minute", "hour", "day"],
    );
    await readAt([begun + 15_000, begun + 30_000, begun + 45_000], 9);
    assert.equal(scene.written.length, 3);
    await readAt([begun + 60_000], 1);
    assert.equal(scene.written.length, 6);
    assert.deepEqual(last("minute"), { min: 5, max: 9, sum: 32, count: 4 });
    assert.deepEqual(last("day"), last("minute"));
    await readAt(
      [75, 90, 105, 120].map((seconds) => begun + seconds * 1_000),
      1,
    );
    assert.deepEqual(last("minute"), { min: 1, max: 1, sum: 4, count: 4 });
    assert.deepEqual(last("day"), { min: 1, max: 9, sum: 36, count: 8 });
    sampler.stop();
  });

  test("an unavailable store misses one minute but not the day, and sampling continues", async () => {
    const { scene, clock, sampler, readAt, last } = openScene();
    clock.advance(60_000 - (clock.now() % 60_000));
    const begun = clock.now();
    const every = (from: number, to: number): number[] =>
      Array.from({ length: (to - from) / 15 }, (_, index) => begun + (from + index * 15) * 1_000);
    sampler.start();
    await readAt(every(0, 60), 2);
    scene.isAway = true;
    await readAt([begun + 60_000], 2);
    assert.equal(scene.warnings, 1);
    scene.isAway = false;
    await readAt(every(75, 135), 2);
    assert.deepEqual(last("day"), { min: 2, max: 2, sum: 16, count: 8 });
    sampler.stop();
  });
});
