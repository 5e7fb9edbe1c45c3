import assert from "node:assert/strict";
import { test } from "node:test";
import { compactNumber, timeTicks, valueTicks } from "./scale.ts";
import { chartOf, measure, slotAt } from "./statistics.ts";

process.env["TZ"] = "Europe/Berlin";

test("an axis ends at or above the highest value and has few round ticks", () => {
  assert.deepEqual(valueTicks(0), [0, 1]);
  assert.deepEqual(valueTicks(1), [0, 0.5, 1]);
  assert.deepEqual(valueTicks(7), [0, 2.5, 5, 7.5]);
  for (const highest of [0.003, 0.3, 1, 9, 10, 11, 999, 1_204, 18_204, 3e9]) {
    const ticks = valueTicks(highest);
    assert.ok((ticks.at(-1) ?? 0) >= highest && ticks.length <= 6, String(highest));
  }
  assert.equal(compactNumber(18_204), "18.2K");
});

test("time ticks are round in the local zone, even on a day with 25 hours", () => {
  const from = Date.parse("2026-10-24T22:00:00Z");
  const ticks = timeTicks({ from, to: from + 25 * 3_600_000 }, 10);
  assert.deepEqual(
    ticks.map(({ label }) => label.replaceAll(/\D*Oct\D*|\D*(?=25)|(?<=26).*/g, "")),
    ["25", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "26"],
  );
  assert.equal(ticks.at(-1)?.at, from + 25 * 3_600_000);
});

test("a slot covers its real duration, the last day ends with the range, and missing points are unknown", () => {
  const points = [
    { at: "2026-10-24T22:00:00Z", attempts: 3 },
    { at: "2026-10-25T23:00:00Z", attempts: null, partial: true },
  ];
  const chart = chartOf(
    { from: "2026-10-23T22:00:00Z", to: "2026-10-26T23:00:00Z", step_seconds: 86_400, points },
    [{ name: "attempts", tone: "good", fill: "solid", valueOf: (point) => measure(point, "attempts") }],
  );
  assert.deepEqual(
    chart.slots.map(({ from, to }) => (to - from) / 3_600_000),
    [25, 24],
  );
  assert.deepEqual(chart.series[0]?.values, [3, null]);
  assert.equal(chart.slots[1]?.isPartial, true);
  assert.equal(slotAt(chart, Date.parse("2026-10-24T00:00:00Z")), -1);
  assert.equal(slotAt(chart, Date.parse("2026-10-25T22:30:00Z")), 0);
});
