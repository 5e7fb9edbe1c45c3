import assert from "node:assert/strict";
import { test } from "node:test";
import { LabelValues, otherValue } from "./plain-metric.ts";

test("one tenant takes at most half of the values that a label has, and leaves room for the next ones", () => {
  const values = new LabelValues(200);
  const admitted = (tenant: string, count: number): number =>
    Array.from({ length: count }, (_, index) => values.admit(`${tenant}.${index}`, tenant)).filter(
      (value) => value !== otherValue,
    ).length;
  assert.equal(admitted("flood", 10_000), 100);
  assert.equal(admitted("second", 10_000), 50);
  assert.equal(admitted("third", 3), 3, "a tenant with few event types has all of them");
  assert.equal(values.admit("flood.0", "another"), "flood.0", "admitted values stay");
  assert.equal(values.admit("flood.new", "flood"), otherValue);
});

test("values without a tenant are admitted up to the limit", () => {
  const values = new LabelValues(3);
  assert.deepEqual(
    ["a", "b", "c", "d", "a"].map((value) => values.admit(value)),
    ["a", "b", "c", otherValue, "a"],
  );
});
