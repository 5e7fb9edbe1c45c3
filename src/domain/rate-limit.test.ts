import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  createBucket,
  giveBack,
  peekWaitMs,
  reconfigureBucket,
  spend,
  strictestLimit,
  tryTake,
  tryTakeAll,
} from "./rate-limit.ts";

const start = 1_800_000_000_000;
const documented = { requestsPerMinute: 100, burst: 20 };

test("WDS-165 of 21 immediate requests with a burst of 20, the last waits for one interval", () => {
  const bucket = createBucket(documented);
  for (let count = 0; count < 20; count += 1) assert.equal(tryTake(bucket, start), 0);
  assert.equal(tryTake(bucket, start), 600);
  assert.equal(tryTake(bucket, start + 599), 1);
  assert.equal(tryTake(bucket, start + 600), 0);
  assert.equal(tryTake(bucket, start + 600), 600);
});

test("an idle bucket fills up to its burst and no further", () => {
  const bucket = createBucket(documented);
  let taken = 0;
  while (tryTake(bucket, start + 86_400_000) === 0) taken += 1;
  assert.equal(taken, 20);
});

test("peeking takes no token, and giving back returns one", () => {
  const bucket = createBucket({ requestsPerMinute: 60, burst: 1 });
  assert.equal(peekWaitMs(bucket, start), 0);
  assert.equal(tryTake(bucket, start), 0);
  assert.equal(peekWaitMs(bucket, start), 1_000);
  giveBack(bucket);
  assert.equal(tryTake(bucket, start), 0);
});

test("a clock set back causes no longer delay than an empty bucket", () => {
  const bucket = createBucket(documented);
  tryTake(bucket, start);
  assert.ok(tryTake(bucket, start - 86_400_000) <= 600);
});

test("all buckets or none: a tenant token is not spent on a webhook that must wait", () => {
  const webhook = createBucket({ requestsPerMinute: 60, burst: 1 });
  const tenant = createBucket({ requestsPerMinute: 60, burst: 2 });
  assert.equal(tryTakeAll([webhook, tenant], start), 0);
  assert.equal(tryTakeAll([webhook, tenant], start), 1_000);
  assert.equal(tryTake(tenant, start), 0);
});

test("requests permitted elsewhere are counted, but leave a bucket no worse than empty", () => {
  const bucket = createBucket({ requestsPerMinute: 60, burst: 2 });
  spend(bucket, start);
  assert.equal(peekWaitMs(bucket, start), 0);
  for (let count = 0; count < 10; count += 1) spend(bucket, start);
  assert.equal(peekWaitMs(bucket, start), 1_000);
  assert.equal(bucket.fullAt, start + 2_000);
});

test("a new limit does not bypass the old one", () => {
  const bucket = createBucket({ requestsPerMinute: 60, burst: 1 });
  tryTake(bucket, start);
  reconfigureBucket(bucket, { requestsPerMinute: 60, burst: 1 });
  assert.equal(tryTake(bucket, start), 1_000);
});

test("the strictest configured limit applies", () => {
  assert.equal(strictestLimit([null, null]), null);
  assert.deepEqual(strictestLimit([null, documented]), documented);
  const granted = { requestsPerMinute: 10, burst: 50 };
  assert.deepEqual(strictestLimit([documented, null, granted]), { requestsPerMinute: 10, burst: 20 });
});

test("an invalid limit is a bug of the caller", () => {
  const bad = [
    [0, 1],
    [-1, 1],
    [Number.NaN, 1],
    [Infinity, 1],
    [1, 0],
    [1, Number.NaN],
    [1, Infinity],
  ] as const;
  for (const [requestsPerMinute, burst] of bad) {
    assert.throws(() => createBucket({ requestsPerMinute, burst }), RangeError);
  }
});

const limits = fc.record({
  requestsPerMinute: fc.integer({ min: 1, max: 100_000 }),
  burst: fc.integer({ min: 1, max: 50 }),
});
const gaps = fc.array(
  fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 5_000 })),
  {
    minLength: 1,
    maxLength: 150,
  },
);

test("property: any window allows at most the burst plus the rate times its length", () => {
  fc.assert(
    fc.property(limits, gaps, (limit, steps) => {
      const bucket = createBucket(limit);
      const taken: number[] = [];
      let now = start;
      for (const gap of steps) {
        now += gap;
        if (tryTake(bucket, now) === 0) taken.push(now);
      }
      for (const [first, from] of taken.entries()) {
        for (const [last, to] of taken.entries()) {
          if (last < first) continue;
          const most = limit.burst + Math.floor(((to - from) * limit.requestsPerMinute) / 60_000);
          assert.ok(last - first + 1 <= most, `${last - first + 1} in ${to - from} ms`);
        }
      }
    }),
    { numRuns: 100 },
  );
});

test("property: waiting for the returned time always succeeds, a millisecond less never does", () => {
  fc.assert(
    fc.property(limits, gaps, (limit, steps) => {
      const bucket = createBucket(limit);
      let now = start;
      for (const gap of steps) {
        now += gap;
        const waitMs = tryTake(bucket, now);
        if (waitMs === 0) continue;
        assert.ok(Number.isInteger(waitMs) && peekWaitMs(bucket, now + waitMs - 1) > 0);
        now += waitMs;
        assert.equal(tryTake(bucket, now), 0);
      }
    }),
  );
});

test("property: a full bucket allows its whole burst at once", () => {
  fc.assert(
    fc.property(limits, fc.integer({ min: 0, max: 1_000_000 }), (limit, offset) => {
      const bucket = createBucket(limit);
      for (let count = 0; count < limit.burst; count += 1) assert.equal(tryTake(bucket, start + offset), 0);
    }),
  );
});
