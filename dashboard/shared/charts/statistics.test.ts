import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptedShare, outcomesChart, outcomesSentence, stackedHeight } from "./statistics.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 10, 23, 4, minute)).toISOString();

test("stacked outcomes add up to all attempts, and the summary shows the totals", () => {
  const statistics = {
    step_seconds: 60,
    from: at(0),
    to: at(2),
    complete_until: at(2),
    series: [
      {
        key: null,
        points: [
          { at: at(0), attempts: 6, accepted: 3, transient: 2, terminal: 1 },
          { at: at(1), attempts: 1, accepted: 1, transient: 0, terminal: 0, partial: true },
        ],
        totals: { attempts: 7, accepted: 4, transient: 2, terminal: 1 },
      },
    ],
  };
  const chart = outcomesChart(statistics);
  assert.deepEqual([stackedHeight(chart, 0), stackedHeight(chart, 1)], [6, 1]);
  const sentence = "7 requests: 57.14 % accepted, 2 failed temporarily, 1 refused.";
  assert.equal(outcomesSentence(statistics), sentence);
  assert.equal(outcomesSentence({ ...statistics, series: [] }), "No requests.");
});

test("one failure keeps the share below 100 %", () => {
  assert.equal(acceptedShare({ accepted: 999_999, attempts: 1_000_000 }), "99.99 %");
  assert.equal(acceptedShare({ accepted: 5, attempts: 5 }), "100 %");
  assert.equal(acceptedShare({ accepted: 0, attempts: 0 }), "–");
});
