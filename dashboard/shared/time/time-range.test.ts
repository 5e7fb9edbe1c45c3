import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseRange, parseTime } from "./time-range.ts";

const now = Date.parse("2026-03-04T12:00:00Z");
const hourMs = 3_600_000;

suite("ranges of time", () => {
  test("a span is the time up to now", () => {
    assert.deepEqual(parseRange("15m", now), { from: now - hourMs / 4, to: null });
    assert.deepEqual(parseRange("7d", now), { from: now - 7 * 24 * hourMs, to: null });
    for (const text of ["", "h", "15", "-1h", "1y", "999999h", "1h30m"])
      assert.equal(parseRange(text, now), null, text);
  });

  test("a point in time is read as people and logs write it", () => {
    assert.equal(parseTime("now-2h", now), now - 2 * hourMs);
    assert.equal(parseTime("2h ago", now), now - 2 * hourMs);
    assert.equal(parseTime("NOW", now), now);
    assert.equal(parseTime("2026-03-04T11:00:00Z", now), now - hourMs);
    assert.equal(parseTime("2026-03-04 11:00:00.000Z", now), now - hourMs);
    const yesterday = new Date(parseTime("yesterday", now) ?? 0);
    assert.equal(yesterday.getHours(), 0);
    assert.ok(now - yesterday.getTime() > 12 * hourMs);
    for (const text of ["", "soon", "now-", "1234", "2026-99-99"])
      assert.equal(parseTime(text, now), null, text);
  });
});
