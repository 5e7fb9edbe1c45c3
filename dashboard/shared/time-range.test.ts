import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseRange, parseTime, rangeQuery, splitRange } from "./time-range.ts";

const now = Date.parse("2026-03-04T12:00:00Z");
const hourMs = 3_600_000;

suite("time ranges", () => {
  test("a span ends now", () => {
    assert.deepEqual(parseRange("15m", now), { from: now - hourMs / 4, to: null });
    assert.deepEqual(parseRange("7d", now), { from: now - 7 * 24 * hourMs, to: null });
    for (const text of ["", "h", "15", "-1h", "1y", "999999h", "1h30m"])
      assert.equal(parseRange(text, now), null, text);
  });

  test("times are parsed in common human and log formats", () => {
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

  test("times are found in pasted log lines", () => {
    const at = Date.parse("2026-03-04T11:05:09Z");
    for (const text of [
      "2026-03-04 11:05:09 UTC",
      "2026-03-04T12:05:09+01:00",
      "2026-03-04 12:05:09 +0100",
      "1772622309",
      "1772622309000",
      '127.0.0.1 - - [04/Mar/2026:11:05:09 +0000] "POST /hooks HTTP/1.1" 503',
      '{"level":"error","time":"2026-03-04T11:05:09Z","message":"refused"}',
    ]) {
      assert.equal(parseTime(text, now), at, text);
    }
    assert.equal(parseTime("[2026-03-04 11:05:09,250Z] refused", now), at + 250);
    const local = new Date(2026, 2, 4, 11, 5, 9).getTime();
    assert.equal(parseTime("2026-03-04 11:05:09 ERROR refused", now), local);
    assert.equal(parseTime("2026-03-04 11:05:09", now), local);
    for (const text of ["04/Foo/2026:11:05:09 +0000", "17726223", "at 11:05"])
      assert.equal(parseTime(text, now), null, text);
  });

  test("two times pasted together are split", () => {
    assert.deepEqual(splitRange("2026-03-04T10:00Z/2026-03-04T11:00Z"), [
      "2026-03-04T10:00Z",
      "2026-03-04T11:00Z",
    ]);
    assert.deepEqual(splitRange("now-2h .. now-1h"), ["now-2h", "now-1h"]);
    assert.deepEqual(splitRange("yesterday to now"), ["yesterday", "now"]);
    for (const text of ["", "now", "04/Mar/2026:11:05:09", "a to b to c"])
      assert.equal(splitRange(text), null, text);
  });

  test("the address stays relative, and the API gets instants at whole minutes", () => {
    const later = now + 59_999;
    assert.deepEqual(rangeQuery(new URLSearchParams("range=1h"), later), {
      from: "2026-03-04T11:00:00.000Z",
    });
    assert.deepEqual(rangeQuery(new URLSearchParams("from=now-2h&to=2026-03-04T11:30:00Z"), later), {
      from: "2026-03-04T10:00:00.000Z",
      to: "2026-03-04T11:30:00.000Z",
    });
    assert.deepEqual(rangeQuery(new URLSearchParams("range=soon&from=never"), now), {});
  });
});
