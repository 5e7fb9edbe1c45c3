import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type AttemptObservation, type Outcome, classify, failureCategories, judge } from "./classify.ts";
import type { Profile } from "./profile.ts";
import { eventDelivery } from "./profiles/event-delivery.ts";
import { profiles } from "./profiles/index.ts";
import { standard } from "./profiles/standard.ts";
import { xWebhook } from "./profiles/x-webhook.ts";

// Copied from the documents, not from the profile: one line per range of statuses. Later lines override earlier ones.
const expectations: readonly (readonly [from: number, to: number, expected: string])[] = [
  [100, 199, "transient protocol -"],
  [200, 299, "accepted - -"],
  [207, 207, "transient protocol notify"],
  [300, 399, "transient redirect notify"],
  [400, 499, "transient client_error warn"],
  [400, 400, "terminal client_error -"],
  [401, 401, "transient client_error notify"],
  [403, 404, "transient client_error notify"],
  [408, 408, "transient timeout -"],
  [409, 409, "transient client_error -"],
  [410, 410, "terminal client_error notify"],
  [413, 413, "terminal payload_too_large -"],
  [414, 415, "terminal client_error -"],
  [421, 421, "transient client_error -"],
  [422, 422, "terminal client_error -"],
  [425, 425, "transient client_error -"],
  [429, 429, "transient rate_limit -"],
  [431, 431, "terminal client_error -"],
  [451, 451, "terminal client_error escalate"],
  [500, 599, "transient server_error -"],
];

function response(status: number, complete = true): AttemptObservation {
  return { kind: "response", status, complete };
}

test("EDS-8-2 every status from 100 to 599 has its documented meaning under `standard`", () => {
  for (let status = 100; status <= 599; status += 1) {
    const expected = expectations.findLast(([from, to]) => status >= from && status <= to)?.[2];
    const verdict = classify(response(status), standard);
    const actual = `${verdict.outcome} ${verdict.category ?? "-"} ${verdict.attention ?? "-"}`;
    assert.equal(actual, expected, `status ${status}`);
  }
});

test("reasons are stable codes", () => {
  const reasons: readonly (readonly [status: number, reason: string])[] = [
    [200, "success"],
    [299, "success"],
    [100, "unexpected_status_100"],
    [207, "unexpected_status_207"],
    [302, "redirect_302"],
    [400, "permanent_client_error_400"],
    [401, "client_error_401"],
    [408, "timeout_408"],
    [410, "permanent_client_error_410"],
    [413, "permanent_client_error_413"],
    [429, "rate_limited"],
    [503, "server_error_503"],
    [700, "unexpected_status_700"],
  ];
  for (const [status, reason] of reasons) assert.equal(classify(response(status), standard).reason, reason);
});

test("without other evidence, only 408 and 504 leave the receiver's state unknown", () => {
  const open: number[] = [];
  for (let status = 100; status <= 599; status += 1) {
    if (classify(response(status), standard).receiverStateUnknown) open.push(status);
  }
  assert.deepEqual(open, [408, 504]);
});

test("EDS-9.3-2 a truncated response is transient with unknown state, regardless of its status", () => {
  for (const status of [200, 204, 299, 400, 410]) {
    const verdict = classify(response(status, false), standard);
    assert.equal(verdict.outcome, "transient");
    assert.equal(verdict.receiverStateUnknown, true);
    assert.equal(verdict.category, "network");
    assert.equal(verdict.reason, `incomplete_response_${status}`);
  }
  const throttled = classify(response(429, false), standard);
  assert.deepEqual([throttled.reason, throttled.receiverStateUnknown], ["rate_limited", true]);
});

test("a profile may trust the status line", () => {
  const byStatus: Pick<Profile, "classification"> = {
    classification: { ...standard.classification, incompleteResponse: "by_status" },
  };
  assert.equal(classify(response(200, false), byStatus).outcome, "accepted");
  assert.equal(classify(response(410, false), byStatus).outcome, "terminal");
});

test("EDS-8-1 transport failures are transient; the state is unknown once bytes were sent", () => {
  for (const category of ["timeout", "network", "dns", "ssl", "protocol"] as const) {
    for (const requestSent of [true, false]) {
      const verdict = classify({ kind: "failure", category, requestSent }, standard);
      assert.equal(verdict.outcome, "transient");
      assert.equal(verdict.category, category);
      assert.equal(verdict.reason, category);
      assert.equal(verdict.receiverStateUnknown, requestSent);
    }
  }
});

test("a profile may classify a transport failure as terminal", () => {
  const strict: Pick<Profile, "classification"> = {
    classification: {
      ...standard.classification,
      failures: { ...standard.classification.failures, ssl: { outcome: "terminal", category: "ssl" } },
    },
  };
  const verdict = classify({ kind: "failure", category: "ssl", requestSent: false }, strict);
  assert.deepEqual([verdict.outcome, verdict.reason], ["terminal", "permanent_ssl"]);
});

// ---- outcomes that depend on the context ------------------------------------------------------------------------

const now = 1_800_000_000_000;

test("WDS-128 a certificate error allows three attempts in all; other failures do not count towards them", () => {
  const seen = classify({ kind: "failure", category: "ssl", requestSent: false }, xWebhook);
  const judged = (attemptNumber: number) => judge(seen, attemptNumber, null, now, xWebhook);
  assert.deepEqual([judged(1), judged(2)], [seen, seen]);
  for (const attemptNumber of [3, 4]) {
    const { outcome, reason } = judged(attemptNumber);
    assert.deepEqual([outcome, reason], ["terminal", "permanent_ssl_error_retry_limit"]);
  }
  const refused = classify({ kind: "failure", category: "network", requestSent: false }, xWebhook);
  assert.equal(judge(refused, 4, null, now, xWebhook), refused);
  assert.equal(judge(seen, 9, null, now, standard), seen);
});

test("EDS-9.2.3-16 after the announced sunset the next failure is the last, and a success still counts", () => {
  const failed = classify(response(503), eventDelivery);
  const at = (sunsetAt: number | null, verdict = failed) => judge(verdict, 1, sunsetAt, now, eventDelivery);
  assert.equal(at(null), failed);
  assert.equal(at(now + 1), failed, "not before its time");
  assert.deepEqual([at(now).outcome, at(now).reason], ["terminal", "permanent_after_sunset"]);
  assert.equal(at(now - 1, classify(response(200), eventDelivery)).outcome, "accepted");
  const patient = judge(failed, 1, now - 1, now, standard);
  assert.equal(patient, failed, "`standard` does not read the header");
});

test("EDS-9.2.1-2 200, 201, 202 and 204 are accepted in every profile", () => {
  for (const profile of profiles) {
    for (const status of [200, 201, 202, 204])
      assert.equal(classify(response(status), profile).outcome, "accepted");
  }
});

test("EDS-2-5 property: total, with a category exactly when not accepted and `permanent_` exactly when terminal", () => {
  const statuses = fc.oneof(fc.integer(), fc.integer({ min: 0, max: 1_000 }), fc.double());
  const outcomes: readonly Outcome[] = ["accepted", "transient", "terminal"];
  fc.assert(
    fc.property(statuses, fc.boolean(), fc.constantFrom(...profiles), (status, complete, profile) => {
      const verdict = classify(response(status, complete), profile);
      assert.ok(outcomes.includes(verdict.outcome));
      assert.equal(verdict.category === undefined, verdict.outcome === "accepted");
      if (verdict.category !== undefined) assert.ok(failureCategories.includes(verdict.category));
      assert.equal(verdict.reason.startsWith("permanent_"), verdict.outcome === "terminal");
      const inTable = Number.isInteger(status) && status >= 200 && status <= 599;
      if (!inTable && Math.floor(status / 100) !== 2) assert.notEqual(verdict.outcome, "accepted");
    }),
  );
});
