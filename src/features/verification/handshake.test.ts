import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { judgeHandshake, parseAllowedRate } from "./verification.ts";

const asked = {
  requestOrigin: "events.example.com",
  requestedRatePerMinute: 120,
  status: 200,
  allowedOrigin: "events.example.com",
  allowedRate: "100",
} as const;

test("CEW-4.2.2-3 a rate is * or a positive whole number, and nothing else", () => {
  assert.deepEqual(parseAllowedRate("*"), { kind: "rate", perMinute: null });
  assert.deepEqual(parseAllowedRate(" 100 "), { kind: "rate", perMinute: 100 });
  assert.deepEqual(parseAllowedRate("1"), { kind: "rate", perMinute: 1 });
  assert.deepEqual(parseAllowedRate("99999999999999999999"), { kind: "rate", perMinute: 1_000_000 });
  for (const text of [
    "0",
    "000",
    "-1",
    "abc",
    "1.5",
    "1e3",
    "0x10",
    "+5",
    "",
    "*5",
    "5,5",
    "５",
    "9".repeat(31),
  ])
    assert.deepEqual(parseAllowedRate(text), { kind: "invalid" }, text);
  fc.assert(
    fc.property(fc.string(), (text) => {
      const rate = parseAllowedRate(text);
      if (rate.kind === "invalid") return true;
      return rate.perMinute === null ? text.trim() === "*" : rate.perMinute > 0;
    }),
  );
});

test("CEW-4.2.1-1 permission is the requesting origin, character for character, or *", () => {
  for (const allowedOrigin of ["events.example.com", "*", " * "])
    assert.deepEqual(judgeHandshake({ ...asked, allowedOrigin }), {
      kind: "granted",
      allowedRatePerMinute: 100,
    });
  for (const allowedOrigin of [
    "EVENTS.example.com",
    "example.com",
    "*.example.com",
    "https://events.example.com",
    "",
  ])
    assert.equal(judgeHandshake({ ...asked, allowedOrigin }).kind, "refused", allowedOrigin);
});

test("CEW-4.2-3 the headers are the consent and the status is not, except for redirects and server errors", () => {
  for (const status of [200, 204, 299, 400, 401, 404, 405, 499])
    assert.equal(judgeHandshake({ ...asked, status }).kind, "granted", String(status));
  for (const status of [200, 204, 404, 405])
    assert.equal(
      judgeHandshake({ ...asked, status, allowedOrigin: undefined }).kind,
      "unanswered",
      String(status),
    );
  for (const status of [301, 307, 308]) assert.equal(judgeHandshake({ ...asked, status }).kind, "refused");
  for (const status of [500, 503]) assert.equal(judgeHandshake({ ...asked, status }).kind, "failed");
});

test("CEW-4.2.2-2 without a rate the requested one applies, or none", () => {
  const silent = { ...asked, allowedRate: undefined };
  assert.deepEqual(judgeHandshake(silent), { kind: "granted", allowedRatePerMinute: 120 });
  assert.deepEqual(judgeHandshake({ ...silent, requestedRatePerMinute: null }), {
    kind: "granted",
    allowedRatePerMinute: null,
  });
  assert.equal(judgeHandshake({ ...asked, allowedRate: "many" }).kind, "refused");
});
