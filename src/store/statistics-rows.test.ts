import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Counts } from "../domain/statistics/counts.ts";
import {
  nextRollUp,
  type PortionRow,
  type RollUpPlace,
  rollUpStart,
  summedPortion,
} from "./statistics-rows.ts";

const hour = 3_600_000;

function rowOf(tenant: number, subject: number, count: number): PortionRow {
  const counts = new Counts();
  counts.add(1, count);
  return [tenant, subject, counts.pack()];
}

test("property: portions of any size give the sums of one portion, each bucket once", () => {
  // Up to two rows per bucket, as if from two writers.
  const pair = fc.tuple(
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 0, max: 5 }),
    fc.integer({ min: 1, max: 9 }),
  );
  const list = fc
    .uniqueArray(pair, {
      maxLength: 30,
      selector: ([tenant, subject, count]) => `${tenant} ${subject} ${count % 2}`,
    })
    .map((rows) => rows.toSorted(([a, b], [c, d]) => a - c || b - d).map((each) => rowOf(...each)));
  fc.assert(
    fc.property(fc.array(list, { maxLength: 4 }), fc.integer({ min: 3, max: 40 }), (lists, limit) => {
      const whole = summedPortion(lists, Number.POSITIVE_INFINITY).rows;
      const summed: { tenant: number; subject: number; counts: Uint8Array }[] = [];
      for (let place: RollUpPlace | null = rollUpStart; place !== null; ) {
        const { tenant, subject }: RollUpPlace = place;
        const beyond = lists.map((rows) =>
          rows.filter((row) => row[0] > tenant || (row[0] === tenant && row[1] > subject)).slice(0, limit),
        );
        const portion = summedPortion(beyond, limit);
        summed.push(...portion.rows);
        place = portion.next;
      }
      assert.deepEqual(summed, whole);
    }),
  );
});

test("a cut list leaves its last bucket, which may continue, to the next portion", () => {
  const list = [rowOf(1, 1, 2), rowOf(1, 1, 3), rowOf(1, 2, 4)];
  const { rows, next } = summedPortion([list, [rowOf(1, 2, 1), rowOf(1, 3, 1)]], 3);
  assert.deepEqual(
    rows.map(({ subject, counts }) => [subject, Counts.unpack(counts).get(1)]),
    [[1, 5]],
  );
  assert.deepEqual(next, { tenant: 1, subject: 1 });
});

test("a bucket is rolled up when it is over and its smaller buckets are complete", () => {
  const facts = { doneUntil: null, first: 5 * hour + 1, endedBefore: 6 * hour, smallerUntil: 6 * hour };
  const hours = { step: "hour", from: "minute" } as const;
  assert.equal(nextRollUp(hours.step, hours.from, facts)?.start, 5 * hour);
  assert.equal(nextRollUp(hours.step, hours.from, facts)?.parts.length, 60);
  assert.equal(nextRollUp(hours.step, hours.from, { ...facts, endedBefore: 6 * hour - 1 }), null);
  assert.equal(nextRollUp(hours.step, hours.from, { ...facts, smallerUntil: 6 * hour - 1 }), null);
  assert.equal(nextRollUp(hours.step, hours.from, { ...facts, doneUntil: 6 * hour }), null);
  assert.equal(nextRollUp(hours.step, hours.from, { ...facts, first: null }), null);
});
