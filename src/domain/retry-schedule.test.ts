import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import fc from "fast-check";
import { failureCategories } from "./classify.ts";
import type { RetrySchedule } from "./profile.ts";
import { standard } from "./profiles/standard.ts";
import {
  attemptsMax,
  Backoff,
  backoffMs,
  nextDelayMs,
  scheduleDelayMsMax,
  validateSchedule,
} from "./retry-schedule.ts";

const plain = { category: undefined, floorsMs: {}, retryAfterMs: null };

// EDS-9.6-4: base delay 1 s, cap 600 s, full jitter.
const fullJitter: RetrySchedule = {
  kind: "exponential",
  attemptsMax: 20,
  baseDelayMs: 1_000,
  multiplier: 2,
  delayMsMax: 600_000,
  jitter: { from: 0, to: 1 },
};
// WDS-46 to 49 and 122: 1 s, doubled up to 300 s, with a jitter of plus or minus 25%.
const quarter: RetrySchedule = {
  kind: "exponential",
  attemptsMax: 5,
  baseDelayMs: 1_000,
  multiplier: 2,
  delayMsMax: 300_000,
  jitter: { from: 0.75, to: 1.25 },
};
const additive: RetrySchedule = standard.schedule;

test("attemptsMax counts requests: one more than the listed delays", () => {
  assert.equal(attemptsMax(additive), 10);
  assert.equal(attemptsMax(quarter), 5);
  assert.equal(attemptsMax({ ...quarter, attemptsMax: 1 }), 1);
});

test("WDS-117 WDS-14 after attempt k the exponent is k - 1", () => {
  const delays = [1, 2, 3, 4, 5].map((attemptCount) =>
    nextDelayMs({ ...plain, schedule: quarter, attemptCount, random: 0.5 }),
  );
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 16_000]);
});

test("TS16-111 additive jitter lengthens the listed delay by at most a fifth", () => {
  const at = (random: number) => nextDelayMs({ ...plain, schedule: additive, attemptCount: 2, random });
  assert.deepEqual([at(0), at(0.5)], [300_000, 330_000]);
  assert.ok(at(0.999_999) <= 360_000);
});

test("EDS-9.6-4 full jitter reaches down to zero and up to the bound", () => {
  const at = (random: number) => nextDelayMs({ ...plain, schedule: fullJitter, attemptCount: 3, random });
  assert.deepEqual([at(0), at(0.5)], [0, 2_000]);
});

test("jitter never raises a delay above the cap: not 375 s if 300 s is the maximum", () => {
  const delay = nextDelayMs({ ...plain, schedule: quarter, attemptCount: 40, random: 0.999 });
  assert.equal(delay, 300_000);
});

test("WDS-121 minimum delays are applied last: not 45 s if one minute is the minimum", () => {
  const floored = { schedule: quarter, attemptCount: 1, random: 0, floorsMs: standard.retryDelayFloorsMs };
  assert.equal(nextDelayMs({ ...floored, category: "rate_limit", retryAfterMs: null }), 60_000);
  assert.equal(nextDelayMs({ ...floored, category: "dns", retryAfterMs: null }), 5_000);
  assert.equal(nextDelayMs({ ...floored, category: "server_error", retryAfterMs: null }), 750);
});

test("EDS-9.6-6 EDS-9.5-3 Retry-After is a lower bound and exceeds the cap; a smaller one changes nothing", () => {
  const query = { ...plain, schedule: quarter, attemptCount: 1, random: 0.5 };
  assert.equal(nextDelayMs({ ...query, retryAfterMs: 7_200_000 }), 7_200_000);
  assert.equal(nextDelayMs({ ...query, retryAfterMs: 10 }), 1_000);
});

test("counts outside the schedule get its first or last delay", () => {
  const at = (attemptCount: number) => nextDelayMs({ ...plain, schedule: additive, attemptCount, random: 0 });
  assert.equal(at(0), 5_000);
  assert.equal(at(500), 86_400_000);
});

const schedules = fc.constantFrom(fullJitter, quarter, additive);
const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("WDS-121 WDS-124 property: minimum delays are respected, and otherwise the delay stays within jitter and cap, in whole milliseconds", () => {
  const categories = fc.constantFrom(undefined, ...failureCategories);
  const retryAfter = fc.option(fc.integer({ min: 1, max: 1e15 }));
  fc.assert(
    fc.property(schedules, fc.integer({ min: 1, max: 60 }), unit, categories, retryAfter, (...drawn) => {
      const [schedule, attemptCount, random, category, retryAfterMs] = drawn;
      const floorsMs = standard.retryDelayFloorsMs;
      const delay = nextDelayMs({ schedule, attemptCount, random, category, floorsMs, retryAfterMs });
      const floor = Math.max(retryAfterMs ?? 0, category === undefined ? 0 : (floorsMs[category] ?? 0));
      assert.ok(delay >= floor);
      const cap = schedule.kind === "list" ? 86_400_000 * 1.2 : schedule.delayMsMax;
      assert.ok(delay <= Math.max(floor, cap) && Number.isSafeInteger(delay));
    }),
  );
});

test("EDS-9.6-1 EDS-6.3-5 WDS-14 property: for the same random number, delays never decrease from retry to retry", () => {
  fc.assert(
    fc.property(schedules, fc.integer({ min: 1, max: 60 }), unit, (schedule, attemptCount, random) => {
      const earlier = nextDelayMs({ ...plain, schedule, attemptCount, random });
      assert.ok(nextDelayMs({ ...plain, schedule, attemptCount: attemptCount + 1, random }) >= earlier);
    }),
  );
});

test("EDS-9.6-5 the three known forms are valid", () => {
  for (const schedule of [fullJitter, quarter, additive]) assert.deepEqual(validateSchedule(schedule), []);
});

const jitter = { from: 1, to: 1.2 };
const list = (delaysMs: unknown) => ({ kind: "list", delaysMs, jitter });
const refused: readonly (readonly [candidate: unknown, field: string])[] = [
  [null, ""],
  ["list", ""],
  [{ kind: "linear", jitter }, "kind"],
  [list([]), "delaysMs"],
  [list("5"), "delaysMs"],
  [list(Array.from({ length: 51 }, () => 1)), "delaysMs"],
  [list([1, -1]), "delaysMs[1]"],
  [list([Number.NaN]), "delaysMs[0]"],
  [list([1, 2, Number.POSITIVE_INFINITY]), "delaysMs[2]"],
  [list(["1"]), "delaysMs[0]"],
  [list(Array(1)), "delaysMs[0]"],
  [list([scheduleDelayMsMax + 1]), "delaysMs[0]"],
  [list([1, 2, 3, 4, 5].map(() => scheduleDelayMsMax)), ""],
  [{ ...list([1]), jitter: undefined }, "jitter"],
  [{ ...list([1]), jitter: { from: 1, to: 0.5 } }, "jitter.to"],
  [{ ...list([1]), jitter: { from: 0, to: 0 } }, "jitter.to"],
  [{ ...list([1]), jitter: { from: -1, to: 1 } }, "jitter.from"],
  [{ ...list([1]), jitter: { from: 1, to: Number.POSITIVE_INFINITY } }, "jitter.to"],
  [{ ...quarter, attemptsMax: 0 }, "attemptsMax"],
  [{ ...quarter, attemptsMax: 2.5 }, "attemptsMax"],
  [{ ...quarter, attemptsMax: 52 }, "attemptsMax"],
  [{ ...quarter, baseDelayMs: 0 }, "baseDelayMs"],
  [{ ...quarter, multiplier: 0.5 }, "multiplier"],
  [{ ...quarter, multiplier: Number.NaN }, "multiplier"],
  [{ ...quarter, delayMsMax: Number.POSITIVE_INFINITY }, "delayMsMax"],
  [{ ...quarter, attemptsMax: 51, baseDelayMs: scheduleDelayMsMax, delayMsMax: scheduleDelayMsMax }, ""],
];

test("EDS-9.6-3 EDS-11.8-1 a schedule that could retry without bound is rejected, naming the field", () => {
  for (const [candidate, field] of refused) {
    const problems = validateSchedule(candidate);
    assert.equal(problems[0]?.field, field, JSON.stringify(candidate));
    assert.equal(problems.length, 1, JSON.stringify(problems));
  }
});

test("all problems are reported together", () => {
  const fields = validateSchedule({ kind: "exponential" }).map((problem) => problem.field);
  assert.deepEqual(fields, ["attemptsMax", "baseDelayMs", "multiplier", "delayMsMax", "jitter"]);
});

test("property: a valid schedule is finite and its delays are usable", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double(), { maxLength: 60 }),
      fc.double(),
      fc.double(),
      unit,
      (delaysMs, from, to, random) => {
        const schedule: RetrySchedule = { kind: "list", delaysMs, jitter: { from, to } };
        if (validateSchedule(schedule).length > 0) return;
        for (let attemptCount = 1; attemptCount < attemptsMax(schedule); attemptCount += 1) {
          assert.ok(Number.isSafeInteger(nextDelayMs({ ...plain, schedule, attemptCount, random })));
        }
      },
    ),
  );
});

const bounds = { delayMsMin: 100, delayMsMax: 2_000 };

describe("backoff", () => {
  it("doubles from the lower bound to the upper bound, and stays there", () => {
    const backoff = new Backoff(bounds);
    const pauses = Array.from({ length: 7 }, () => backoff.nextMs());
    assert.deepEqual(pauses, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
  });

  it("shortens a pause by up to half", () => {
    for (const [random, share] of [
      [0, 0.5],
      [0.5, 0.75],
      [1, 1],
    ] as const) {
      assert.equal(backoffMs(bounds, 0, random), 100 * share);
      assert.equal(backoffMs(bounds, 9, random), 2_000 * share);
    }
  });

  it("restarts after a success", () => {
    const backoff = new Backoff(bounds);
    backoff.nextMs();
    backoff.nextMs();
    backoff.reset();
    assert.equal(backoff.nextMs(), 100);
  });

  it("stays finite after any number of failures", () => {
    assert.equal(backoffMs(bounds, 1e9), 2_000);
    assert.equal(backoffMs({ delayMsMin: 0, delayMsMax: 0 }, 1e9), 0);
  });
});
