import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatInstant, isDateTime, parseInstant } from "./mapping.ts";

test("RFC 3339 in all its forms", () => {
  const expected = Date.UTC(2026, 0, 31, 9, 30, 0, 120);
  for (const text of [
    "2026-01-31T09:30:00.12Z",
    "2026-01-31t09:30:00.120z",
    "2026-01-31 09:30:00.120999Z",
    "2026-01-31T11:00:00.120+01:30",
  ]) {
    assert.equal(parseInstant(text), expected, text);
  }
  assert.equal(parseInstant("2026-01-31"), Date.UTC(2026, 0, 31));
  assert.equal(parseInstant("2016-12-31T23:59:60Z"), Date.UTC(2016, 11, 31, 23, 59, 59));
  assert.equal(parseInstant("2024-02-29"), Date.UTC(2024, 1, 29));
});

test("text that is not a time", () => {
  const texts = [
    "",
    "now",
    "2026",
    "2026-1-1",
    "2026-02-30",
    "2025-02-29",
    "1900-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-01-00",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:61Z",
    "2026-01-01T00:00:00",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00Z",
    "+012026-01-01",
    "2026-01-01T00:00:00.Z",
    " 2026-01-01",
    "2026-01-01\n",
  ];
  for (const text of texts) assert.equal(parseInstant(text), null, text);
});

test("a date alone is not a date-time", () => {
  assert.equal(isDateTime("2026-01-31"), false);
  assert.equal(isDateTime("2026-01-31T00:00:00Z"), true);
});

test("written instants can be read", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
      (date) => {
        assert.equal(parseInstant(formatInstant(date.getTime())), date.getTime());
      },
    ),
  );
});
