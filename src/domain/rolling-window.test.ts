import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  addResults,
  advanceWindow,
  clearWindow,
  countResult,
  createWindow,
  resizeWindow,
  type RollingWindow,
  windowStart,
} from "./rolling-window.ts";

const start = 1_800_000_000_000;
const sizeMs = 60_000;

const results = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.boolean()), { maxLength: 120 });

test("property: counts are between those of 59/60 of the window and those of the whole window", () => {
  fc.assert(
    fc.property(results, fc.integer({ min: 0, max: 90_000 }), (steps, pauseMs) => {
      const window = createWindow(sizeMs);
      const counted: { at: number; accepted: boolean }[] = [];
      let now = start;
      for (const [elapsedMs, accepted] of steps) {
        now += elapsedMs;
        countResult(window, now, accepted);
        counted.push({ at: now, accepted });
      }
      now += pauseMs;
      advanceWindow(window, now);
      for (const [accepted, actual] of [
        [true, window.successes],
        [false, window.failures],
      ] as const) {
        const within = (ms: number) =>
          counted.filter((one) => one.accepted === accepted && one.at > now - ms).length;
        assert.ok(actual >= within((sizeMs * 59) / 60) && actual <= within(sizeMs));
      }
      assert.ok(windowStart(window) > now - sizeMs && windowStart(window) <= now);
    }),
    { numRuns: 200 },
  );
});

test("a clock set back a little keeps the counts, one set back far resets them", () => {
  const window = createWindow(sizeMs);
  countResult(window, start, false);
  countResult(window, start - 5_000, false);
  assert.equal(window.failures, 2);
  countResult(window, start - 3_600_000, false);
  assert.equal(window.failures, 1);
});

test("a different length resets the window", () => {
  const window = createWindow(sizeMs);
  countResult(window, start, true);
  resizeWindow(window, sizeMs);
  assert.equal(window.successes, 1);
  resizeWindow(window, 10_000);
  countResult(window, start, true);
  assert.equal(window.successes, 1);
  advanceWindow(window, start + 10_000);
  assert.equal(window.successes, 0);
});

/** The expected slices, built by an observer that counts each result at the same time. */
function seen(window: RollingWindow, into: Map<number, [successes: number, failures: number]>) {
  return (now: number, accepted: boolean): void => {
    countResult(window, now, accepted);
    const counts = into.get(window.head) ?? [0, 0];
    counts[accepted ? 0 : 1] += 1;
    into.set(window.head, counts);
  };
}

const slicesOf = (counts: ReadonlyMap<number, [number, number]>) =>
  [...counts].map(([slice, [successes, failures]]) => ({ slice, successes, failures }));

test("property: results counted elsewhere count like results counted here", () => {
  fc.assert(
    fc.property(results, results, fc.integer({ min: 0, max: 90_000 }), (before, after, pauseMs) => {
      const [whole, taken] = [createWindow(sizeMs), createWindow(sizeMs)];
      const known = new Map<number, [number, number]>();
      const count = seen(whole, known);
      let now = start;
      for (const [elapsedMs, accepted] of before) count((now += elapsedMs), accepted);
      now += pauseMs;
      addResults(taken, slicesOf(known), now);
      for (const [elapsedMs, accepted] of after) {
        now += elapsedMs;
        countResult(whole, now, accepted);
        countResult(taken, now, accepted);
      }
      for (const window of [whole, taken]) advanceWindow(window, now);
      assert.deepEqual([taken.successes, taken.failures], [whole.successes, whole.failures]);
    }),
    { numRuns: 200 },
  );
});

test("results from a clock slightly ahead are new, and those from a distant time are ignored", () => {
  const window = createWindow(sizeMs);
  const slice = Math.floor(start / 1_000);
  const one = { successes: 0, failures: 1 };
  addResults(window, [{ slice: slice + 3, ...one }], start);
  assert.equal(window.failures, 1);
  addResults(
    window,
    [
      { slice: slice + 60, ...one },
      { slice: slice - 60, ...one },
    ],
    start,
  );
  assert.equal(window.failures, 1);
  advanceWindow(window, start + 59_000);
  assert.equal(window.failures, 1);
  advanceWindow(window, start + 60_000);
  assert.equal(window.failures, 0);
});

test("a holder of a copy can see that results were dropped early", () => {
  const window = createWindow(sizeMs);
  countResult(window, start, true);
  countResult(window, start + 59_000, true);
  countResult(window, start + 3_600_000, true);
  assert.equal(window.clearings, 0);
  clearWindow(window);
  assert.equal(window.clearings, 1);
  resizeWindow(window, 10_000);
  assert.equal(window.clearings, 2);
  countResult(window, start, true);
  countResult(window, start - 3_600_000, true);
  assert.equal(window.clearings, 3);
});
