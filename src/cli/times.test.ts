import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "./failures.ts";
import { relativeTime, timeOf } from "./times.ts";

const now = Date.UTC(2026, 10, 22, 12);

for (const [text, expected] of [
  ["1h", "2026-11-22T11:00:00.000Z"],
  ["90m", "2026-11-22T10:30:00.000Z"],
  ["30 min", "2026-11-22T11:30:00.000Z"],
  ["7d", "2026-11-15T12:00:00.000Z"],
  ["2026-11-01", "2026-11-01"],
  ["2026-11-01T08:00:00Z", "2026-11-01T08:00:00Z"],
] as const) {
  test(`--since ${text} is ${expected}`, () => {
    assert.equal(timeOf(text, "--since", now, "ago"), expected);
  });
}

test("a duration with an unknown unit is rejected with the allowed formats", () => {
  assert.throws(
    () => timeOf("3 fortnights", "--since", now, "ago"),
    (error) => error instanceof UsageError && /--since takes a time/.test(error.message),
  );
  assert.equal(timeOf("30d", "--expires", now, "ahead"), "2026-12-22T12:00:00.000Z");
});

test("relative times are formatted from now", () => {
  const at = (ms: number) => relativeTime(new Date(now + ms).toISOString(), now);
  assert.deepEqual(
    [at(0), at(-3_000), at(40_000), at(-180_000), at(-3 * 3_600_000), at(-3 * 86_400_000)],
    ["now", "3 s ago", "in 40 s", "3 min ago", "3 h ago", "3 d ago"],
  );
  assert.equal(relativeTime(null, now), "");
});
