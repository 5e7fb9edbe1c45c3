import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Counts, VarintReader } from "./counts.ts";
import { keys, percentile, placeOf, timeAt } from "./facts.ts";

const entries = fc.array(fc.tuple(fc.integer({ min: 1, max: 998 }), fc.integer({ min: 1, max: 2 ** 45 })), {
  maxLength: 60,
});

function countsOf(pairs: readonly (readonly [number, number])[]): Counts {
  const counts = new Counts();
  for (const [key, times] of pairs) counts.add(key, times);
  return counts;
}

const all = (counts: Counts) => counts.within(0, Number.POSITIVE_INFINITY);

test("property: packed counts are unpacked unchanged, with numbers beyond 32 bits", () => {
  fc.assert(
    fc.property(entries, (pairs) => {
      const counts = countsOf(pairs);
      assert.deepEqual(all(Counts.unpack(counts.pack())), all(counts));
    }),
  );
});

test("property: adding packed buckets equals counting everything in one", () => {
  fc.assert(
    fc.property(entries, entries, (left, right) => {
      const sum = Counts.unpack(countsOf(left).pack());
      sum.addAll(Counts.unpack(countsOf(right).pack()));
      assert.deepEqual(all(sum), all(countsOf([...left, ...right])));
    }),
  );
});

test("an empty bucket packs to nothing", () => {
  assert.equal(new Counts().pack().length, 0);
  assert.equal(Counts.unpack(new Uint8Array()).isEmpty, true);
});

test("bytes that end within a number are rejected", () => {
  assert.throws(() => new VarintReader(Uint8Array.of(0x80)).read(), RangeError);
});

test("twelve status codes are kept, the others share one entry, and nothing is lost", () => {
  const counts = new Counts();
  for (let code = 400; code < 430; code += 1)
    counts.add(keys.status + code, code === 417 ? 1_000 : 430 - code);
  const kept = Counts.unpack(counts.pack());
  const codes = kept.within(keys.status, keys.statusEnd);
  assert.equal(codes.length, 12);
  assert.equal(kept.get(keys.status + 417), 1_000);
  const sum = (of: Counts) => all(of).reduce((total, [, count]) => total + count, 0);
  assert.equal(sum(kept), sum(counts));
  assert.ok(kept.get(keys.statusOther) > 0);
});

test("property: a time is read with an error of at most a tenth", () => {
  fc.assert(
    fc.property(fc.double({ min: 1, max: 1e10, noNaN: true }), (ms) => {
      assert.ok(Math.abs(timeAt(placeOf(ms)) - ms) <= ms * 0.1 + 1e-9);
    }),
  );
});

test("times below a millisecond, negative times and missing times are counted", () => {
  for (const ms of [0, 0.4, -5, Number.NaN]) assert.equal(placeOf(ms), 0);
  assert.equal(placeOf(Number.POSITIVE_INFINITY), 999);
});

test("property: percentiles of added buckets are within a tenth of those of all times", () => {
  const times = fc.array(fc.double({ min: 1, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(times, times, fc.constantFrom(0.5, 0.95, 0.99), (left, right, share) => {
      const bucketOf = (of: readonly number[]) =>
        countsOf(of.map((ms) => [keys.duration + placeOf(ms), 1] as const));
      const sum = bucketOf(left);
      sum.addAll(bucketOf(right));
      const sorted = [...left, ...right].toSorted((a, b) => a - b);
      const actual = sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
      const read = percentile(sum, "duration", share) ?? Number.NaN;
      assert.ok(Math.abs(read - actual) <= actual * 0.1 + 1e-9, `${read} for ${actual}`);
    }),
  );
});

test("an empty bucket has no percentiles", () => {
  assert.equal(percentile(new Counts(), "duration", 0.5), null);
});
