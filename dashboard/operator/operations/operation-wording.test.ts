import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateText, exclusionsOf, filterTexts, progressText } from "./operation-wording.ts";

test("what is left alone is told by reason, the most frequent first, unknown reasons too", () => {
  assert.deepEqual(exclusionsOf({ in_flight: 2, new_reason: 5 }), [
    { count: 5, text: "new reason" },
    { count: 2, text: "a request is on its way" },
  ]);
});

test("a total that was not counted to its end is the least it can be", () => {
  assert.equal(progressText({ done: 4_210, total: 8_412, total_is_exact: true }), "4,210 of 8,412");
  assert.equal(progressText({ done: 0, total: 10_000, total_is_exact: false }), "0 of 10,000 or more");
});

test("an estimate is rounded to one unit, and says when there is none", () => {
  assert.equal(estimateText(0.2), "less than a second");
  assert.equal(estimateText(841), "about 14 min");
  assert.equal(estimateText(null), "for an unknown time");
});

test("a filter is told part by part", () => {
  assert.deepEqual(filterTexts({ status: ["exhausted", "failed"], error: "timed out" }), [
    "status: exhausted, failed",
    "error: timed out",
  ]);
});
