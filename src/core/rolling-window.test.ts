import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { advanceWindow, countResult, createWindow, resizeWindow, windowStart } from "./rolling-window.ts";

const start = 1_800_000_000_000;
const sizeMs = 60_000;

const results = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.boolean()), { maxLength: 120 });

test("property: counts lie between those of 59/60 of the window and those of all of it", () => {
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

test("a clock set back a little keeps the counts, one set back far starts anew", () => {
  const window = createWindow(sizeMs);
  countResult(window, start, false);
  countResult(window, start - 5_000, false);
  assert.equal(window.failures, 2);
  countResult(window, start - 3_600_000, false);
  assert.equal(window.failures, 1);
});

test("another length starts anew", () => {
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
