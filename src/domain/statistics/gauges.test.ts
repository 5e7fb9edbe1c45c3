import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type GaugeName, gaugeNames, type GaugeReading, joinedSpans, spanOf, summaryOf } from "./gauges.ts";

function reading(known: Partial<Record<GaugeName, number>>): GaugeReading {
  const all = gaugeNames.map((name) => [name, known[name] ?? null]);
  return Object.fromEntries(all) as GaugeReading;
}

/** Readings of one process, one per second, starting at the given time. */
function ran(from: number, values: readonly number[]) {
  return values
    .map((value, index) => spanOf(reading({ in_flight: value, waiting_high: value }), from + index * 1_000))
    .reduce(joinedSpans);
}

suite("readings from processes", () => {
  test("one process: minimum, mean and maximum; an unknown reading is null", () => {
    const span = ran(0, [1, 2, 6]);
    assert.deepEqual(summaryOf("in_flight", [span]), { min: 1, mean: 3, max: 6 });
    assert.equal(summaryOf("commit_ms", [span]), null);
    assert.deepEqual([span.from, span.to], [0, 2_000]);
  });

  test("two processes at once: their own readings are added, those of the store are not", () => {
    const both = [ran(0, [2, 4]), ran(0, [10, 20])];
    assert.deepEqual(summaryOf("in_flight", both), { min: 12, mean: 18, max: 24 });
    assert.deepEqual(summaryOf("waiting_high", both), { min: 2, mean: 9, max: 20 });
  });

  test("a process that ran for part of the time counts for that part", () => {
    const summary = summaryOf("in_flight", [ran(0, [4, 4, 4, 4, 4]), ran(1_000, [10])]);
    assert.deepEqual([summary?.min, summary?.max], [4, 14]);
    assert.equal(summary?.mean.toFixed(1), "4.0");
  });

  test("a restarted process is one, not two", () => {
    const summary = summaryOf("in_flight", [ran(0, [4, 4]), ran(30_000, [4, 4])]);
    assert.deepEqual(summary, { min: 4, mean: 4, max: 4 });
  });

  test("a reading that only some processes have is computed from those", () => {
    const known = spanOf(reading({ commit_ms: 5 }), 0);
    const joined = joinedSpans(known, spanOf(reading({}), 1_000));
    assert.deepEqual(summaryOf("commit_ms", [joined, ran(0, [1])]), { min: 5, mean: 5, max: 5 });
  });
});
