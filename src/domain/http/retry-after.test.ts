import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseHttpDate, parseRetryAfter } from "./retry-after.ts";

const now = Date.UTC(2026, 5, 1);
const fixdateExample = 784_111_777_000;

// From RFC 9110, sections 5.6.7 and 10.2.3. The Retry-After rows without a date are also in the Svix test suite.
const httpDates: readonly (readonly [text: string, unixSeconds: number | null])[] = [
  ["Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777],
  ["Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777],
  ["Sun Nov  6 08:49:37 1994", 784_111_777],
  ["Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799],
  ["Wed, 21 Oct 2015 07:28:00 GMT", 1_445_412_480],
  ["Wed Oct 21 07:28:00 2015", 1_445_412_480],
  ["Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800],
  ["Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800],
  ["Wed, 29 Feb 2023 00:00:00 GMT", null],
  ["Sun, 31 Nov 1994 08:49:37 GMT", null],
  ["Sun, 00 Nov 1994 08:49:37 GMT", null],
  ["Sun, 06 Nov 1994 24:00:00 GMT", null],
  ["Sun, 06 Nov 1994 08:60:00 GMT", null],
  ["Sun, 06 Nov 1994 08:49:61 GMT", null],
  ["sun, 06 nov 1994 08:49:37 gmt", null],
  ["Sun, 06 Nov 1994 08:49:37 +0000", null],
  ["Sun, 6 Nov 1994 08:49:37 GMT", null],
  ["Sun Nov 6 08:49:37 1994", null],
  ["1994-11-06T08:49:37Z", null],
  ["", null],
];

test("all three forms of HTTP-date are read, and nothing else", () => {
  for (const [text, unixSeconds] of httpDates) {
    const expected = unixSeconds === null ? null : unixSeconds * 1_000;
    assert.equal(parseHttpDate(text, now), expected, JSON.stringify(text));
  }
});

test("a two-digit year is the latest one at most 50 years ahead", () => {
  const at = (year: number) => Date.UTC(year, 0, 1);
  assert.equal(parseHttpDate("Sunday, 06-Nov-94 08:49:37 GMT", at(2026)), fixdateExample);
  assert.equal(parseHttpDate("Friday, 31-Dec-75 00:00:00 GMT", at(2026)), Date.UTC(2075, 11, 31));
  assert.equal(parseHttpDate("Friday, 31-Dec-76 00:00:00 GMT", at(2026)), Date.UTC(1976, 11, 31));
  assert.equal(parseHttpDate("Friday, 01-Jan-05 00:00:00 GMT", at(2099)), Date.UTC(2105, 0, 1));
});

test("seconds and dates become delays from now", () => {
  assert.deepEqual(parseRetryAfter("120", now), { kind: "delay", delayMs: 120_000 });
  assert.deepEqual(parseRetryAfter(" 30\t", now), { kind: "delay", delayMs: 30_000 });
  assert.deepEqual(parseRetryAfter("Mon, 01 Jun 2026 00:00:10 GMT", now), { kind: "delay", delayMs: 10_000 });
});

test("EDS-9.5-4 absent, zero and past values leave the decision to the local policy", () => {
  for (const text of [
    undefined,
    "0",
    "000",
    "Fri, 31 Dec 1999 23:59:59 GMT",
    "Mon, 01 Jun 2026 00:00:00 GMT",
  ]) {
    assert.equal(parseRetryAfter(text, now).kind, "none", String(text));
  }
});

test("an invalid value is distinguished from a missing one", () => {
  for (const text of [
    "invalid",
    "",
    " ",
    "120.1",
    "120.6",
    "120.0",
    "-5",
    "+5",
    "1e3",
    "0x10",
    "120, 120",
    "٣",
  ]) {
    assert.equal(parseRetryAfter(text, now).kind, "unparsable", text);
  }
});

test("an enormous wait does not overflow, and is cut to ten years", () => {
  for (const text of ["9".repeat(20), "9".repeat(400), "8640000000000", "999999999", "9000000000"]) {
    const result = parseRetryAfter(text, now);
    assert.ok(result.kind === "delay");
    assert.equal(new Date(now + result.delayMs).getUTCFullYear(), 2036, text);
  }
});

test("Unix timestamps in seconds or smaller units are read as times, not delays", () => {
  // 2026-06-01T00:02:00Z, two minutes from now.
  for (const text of ["1780272120", "1780272120000", "1780272120000000", "1780272120000000000"])
    assert.deepEqual(parseRetryAfter(text, now), { kind: "delay", delayMs: 120_000 }, text);
  // 2025-06-01 and 2024-01-01, in the past.
  for (const text of ["1748736000", "1704067200000"])
    assert.deepEqual(parseRetryAfter(text, now), { kind: "none" }, text);
  // 2029-06-01 is only a few years ahead.
  const year = 365 * 86_400_000;
  const far = parseRetryAfter("1874966400", now);
  assert.ok(far.kind === "delay" && far.delayMs > 3 * year && far.delayMs < 3.1 * year);
});

test("a delay stays a delay while the clock is near 1970", () => {
  assert.deepEqual(parseRetryAfter("120", 60_000), { kind: "delay", delayMs: 120_000 });
  assert.deepEqual(parseRetryAfter("86400", 0), { kind: "delay", delayMs: 86_400_000 });
});

test("property: no wait within ten years is shortened", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 * 365 * 86_400 }), (seconds) => {
      assert.deepEqual(parseRetryAfter(String(seconds), now), { kind: "delay", delayMs: seconds * 1_000 });
    }),
  );
});

test("property: IMF-fixdate round trips and arbitrary text never throws", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 8_000_000_000 }), (unixSeconds) => {
      assert.equal(parseHttpDate(new Date(unixSeconds * 1_000).toUTCString(), now), unixSeconds * 1_000);
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      const result = parseRetryAfter(text, now);
      if (result.kind === "delay") assert.ok(result.delayMs > 0 && Number.isFinite(result.delayMs));
    }),
  );
});
