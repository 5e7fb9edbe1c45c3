import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateText, exclusionsOf, filterTexts, progressText } from "./operation-wording.ts";

test("skipped deliveries are listed by reason, most frequent first, including unknown reasons", () => {
  assert.deepEqual(exclusionsOf({ in_flight: 2, new_reason: 5 }), [
    { count: 5, text: "new reason" },
    { count: 2, text: "a request is in flight" },
  ]);
});

test("an inexact total is shown as a lower bound", () => {
  assert.equal(progressText({ done: 4_210, total: 8_412, total_is_exact: true }), "4,210 of 8,412");
  assert.equal(progressText({ done: 0, total: 10_000, total_is_exact: false }), "0 of 10,000 or more");
});

test("an estimate is rounded to one unit, or is unknown", () => {
  assert.equal(estimateText(0.2), "less than a second");
  assert.equal(estimateText(841), "about 14 min");
  assert.equal(estimateText(null), "an unknown time");
});

test("a filter is listed part by part", () => {
  assert.deepEqual(filterTexts({ status: ["exhausted", "failed"], error: "timed out" }), [
    "status: exhausted, failed",
    "error: timed out",
  ]);
});
