import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type AttemptObservation, classify, failureCategories } from "../classify.ts";
import { createHealth, endpointPause, observeHealth } from "../endpoint-health.ts";
import { attemptsMax, nextDelayMs } from "../retry-schedule.ts";
import { eventDelivery } from "./event-delivery.ts";

const now = 1_800_000_000_000;
const { schedule } = eventDelivery;

function delayMs(attemptCount: number, random: number, retryAfterMs: number | null = null): number {
  const { retryDelayFloorsMs: floorsMs } = eventDelivery;
  return nextDelayMs({ schedule, attemptCount, random, category: "server_error", floorsMs, retryAfterMs });
}

/** Mean delay over evenly spaced random values, which approximates the expected delay. */
function expectedDelayMs(attemptCount: number): number {
  const chances = Array.from({ length: 1_000 }, (_, index) => (index + 0.5) / 1_000);
  return chances.reduce((sum, chance) => sum + delayMs(attemptCount, chance), 0) / chances.length;
}

function response(status: number): AttemptObservation {
  return { kind: "response", status, complete: true };
}

test("EDS-9.6-4 full jitter: retry n waits between 0 and the smaller of 600 s and 1 s times 2 to the n", () => {
  for (let retry = 0; retry < 40; retry += 1) {
    const boundMs = Math.min(600_000, 1_000 * 2 ** retry);
    assert.equal(delayMs(retry + 1, 0), 0);
    assert.equal(delayMs(retry + 1, 0.999_999_999), boundMs, `retry ${retry}`);
    assert.ok(Math.abs(expectedDelayMs(retry + 1) - boundMs / 2) <= 1, `mean of retry ${retry}`);
  }
});

test("EDS-9.6-1 EDS-6.3-5 the expected delay never decreases from retry to retry", () => {
  const expected = Array.from({ length: 30 }, (_, index) => expectedDelayMs(index + 1));
  assert.deepEqual(
    expected,
    expected.toSorted((a, b) => a - b),
  );
  assert.ok((expected[0] ?? 0) < 1_000 && (expected.at(-1) ?? 0) > 299_999);
});

test("retries end by count, and by age after a day", () => {
  assert.ok(Number.isInteger(attemptsMax(schedule)) && attemptsMax(schedule) <= 500);
  assert.equal(eventDelivery.ageMsMax, 24 * 3_600_000);
});

test("EDS-9.6-6 with any jitter, a longer Retry-After is the lower bound and a shorter one changes nothing", () => {
  const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(unit, fc.integer({ min: 1, max: 60 }), fc.nat(10_000_000), (random, count, askedMs) => {
      assert.equal(delayMs(count, random, askedMs), Math.max(askedMs, delayMs(count, random)));
    }),
  );
});

test("no response pauses the endpoint: Retry-After affects only the delivery", () => {
  for (const status of [408, 429, 502, 503, 504]) {
    const verdict = classify(response(status), eventDelivery);
    assert.equal(endpointPause(verdict, status, 60_000, now, eventDelivery.pauses), null, String(status));
  }
});

test("EDS-9.2.3-8 410 deactivates the webhook at once", () => {
  const verdict = classify(response(410), eventDelivery);
  assert.equal(verdict.outcome, "terminal");
  const observation = { verdict, statusCode: 410, now, exhausted: null };
  const decision = observeHealth(createHealth(), observation, eventDelivery.disable);
  assert.deepEqual(decision, { kind: "suspend", reason: "gone" });
});

test("EDS-11.8-3 repeated terminal outcomes stop the webhook, exhausted deliveries do not", () => {
  const health = createHealth();
  const observe = (status: number, isExhausted = false) =>
    observeHealth(
      health,
      {
        verdict: classify(response(status), eventDelivery),
        statusCode: status,
        now,
        exhausted: isExhausted ? { firstAttemptAt: now } : null,
      },
      eventDelivery.disable,
    );
  for (let count = 1; count < 20; count += 1) assert.equal(observe(400), null);
  assert.equal(observe(503, true), null);
  assert.deepEqual(observe(422), { kind: "suspend", reason: "consecutive_terminal" });
});

test("EDS-9.2.3-16 the profile reads Sunset, and no category has a separate attempt limit", () => {
  assert.equal(eventDelivery.sunset, "terminal");
  assert.deepEqual(eventDelivery.attemptsMaxByCategory, {});
  assert.deepEqual(eventDelivery.retryDelayFloorsMs, {});
});

test("EDS-8-1 failures below HTTP are transient, whatever their kind", () => {
  for (const category of failureCategories) {
    if (!(category in eventDelivery.classification.failures)) continue;
    const observation = { kind: "failure", category, requestSent: true } as AttemptObservation;
    const verdict = classify(observation, eventDelivery);
    assert.deepEqual([verdict.outcome, verdict.receiverStateUnknown], ["transient", true], category);
  }
});

test("messages are signed by RFC 9421 and carry the key, but no headers of other families", () => {
  assert.deepEqual(eventDelivery.signatureSchemes, ["rfc9421-ed25519"]);
  assert.deepEqual(eventDelivery.signatureSchemesAllowed, ["rfc9421-ed25519", "rfc9421-hmac-sha256"]);
  assert.deepEqual(eventDelivery.payloadFormats, ["data"]);
  assert.deepEqual(
    eventDelivery.headers.map(({ name }) => name),
    ["Content-Type", "User-Agent", "Idempotency-Key", "Content-Digest", "Signature-Input", "Signature"],
  );
});
