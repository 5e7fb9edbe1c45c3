import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type FailureCategory, classify, failureCategories } from "../classify.ts";
import { attemptTimeoutMs } from "../delivery-policy.ts";
import { createHealth, endpointPause, observeHealth } from "../endpoint-health.ts";
import { createBucket, tryTake } from "../rate-limit.ts";
import { attemptsMax, nextDelayMs } from "../retry-schedule.ts";
import { xWebhook } from "./x-webhook.ts";

const now = 1_800_000_000_000;
const { schedule } = xWebhook;

function delayMs(attemptCount: number, how: { random?: number; category?: FailureCategory }): number {
  const { random = 0.5, category } = how;
  const { retryDelayFloorsMs: floorsMs } = xWebhook;
  return nextDelayMs({ schedule, attemptCount, random, category, floorsMs, retryAfterMs: null });
}

test("WDS-46 WDS-47 WDS-48 WDS-49 WDS-117 five requests: 1 s, doubled each time, up to 300 s", () => {
  assert.equal(attemptsMax(schedule), 5);
  const delays = [1, 2, 3, 4].map((attemptCount) => delayMs(attemptCount, {}));
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000]);
  assert.equal(delayMs(30, {}), 300_000);
});

test("WDS-122 jitter spreads a delay by a quarter in both directions, never below zero", () => {
  assert.equal(delayMs(3, { random: 0 }), 3_000);
  assert.equal(delayMs(3, { random: 0.999_999_9 }), 5_000);
  const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(unit, fc.integer({ min: 1, max: 5 }), (random, attemptCount) => {
      const base = 1_000 * 2 ** (attemptCount - 1);
      const delay = delayMs(attemptCount, { random });
      assert.ok(delay >= 0.75 * base && delay <= 1.25 * base);
    }),
  );
});

test("WDS-118 WDS-119 WDS-120 WDS-121 the minimum of a category is respected, even after jitter", () => {
  const minima = { rate_limit: 60_000, dns: 5_000, timeout: 2_000 } as const;
  for (const category of failureCategories) {
    const minimum = (minima as Partial<Record<FailureCategory, number>>)[category] ?? 0;
    assert.equal(delayMs(1, { random: 0, category }), Math.max(750, minimum), category);
  }
  assert.equal(delayMs(5, { random: 0.5, category: "dns" }), 16_000, "a longer delay stays");
});

test("WDS-50 WDS-51 WDS-123 WDS-164 30 s; it grows only if requested, up to three times", () => {
  const timeouts = (timeoutGrowthFactor: number) =>
    [1, 2, 3, 4].map((number) =>
      attemptTimeoutMs({ timeoutMs: xWebhook.timeoutMs, timeoutGrowthFactor }, number),
    );
  assert.equal(xWebhook.timeoutGrowthFactor, 1);
  assert.deepEqual(timeouts(xWebhook.timeoutGrowthFactor), [30_000, 30_000, 30_000, 30_000]);
  assert.deepEqual(timeouts(2), [30_000, 60_000, 90_000, 90_000]);
});

test("WDS-52 WDS-53 WDS-54 WDS-55 WDS-56 WDS-57 the circuit breaker has the documented settings", () => {
  assert.deepEqual(xWebhook.circuitBreaker, {
    enabled: true,
    errorThresholdPercentage: 50,
    minimumThroughput: 10,
    windowSizeMs: 60_000,
    sleepWindowMs: 30_000,
    halfOpenMaxCalls: 3,
  });
  assert.deepEqual(xWebhook.circuitBreakerIgnoresStatuses, [], "every failure counts");
});

test("WDS-59 WDS-60 WDS-165 100 per minute from a bucket of 20: the 21st immediate request must wait", () => {
  const { rateLimit } = xWebhook;
  assert.ok(rateLimit !== null);
  assert.deepEqual(rateLimit, { requestsPerMinute: 100, burst: 20 });
  const bucket = createBucket(rateLimit);
  const waits = Array.from({ length: 21 }, () => tryTake(bucket, now));
  assert.deepEqual(
    waits.slice(0, 20),
    Array.from({ length: 20 }, () => 0),
  );
  assert.equal(waits[20], 600);
});

test("WDS-128 after TLS errors, at most three requests are sent", () => {
  assert.deepEqual(xWebhook.attemptsMaxByCategory, { ssl: 3 });
});

test("the webhook is never disabled automatically, and no response pauses the endpoint", () => {
  const health = createHealth();
  for (const status of [410, 404, 400, 503]) {
    const verdict = classify({ kind: "response", status, complete: true }, xWebhook);
    for (let count = 0; count < 100; count += 1) {
      const at = now + count * 86_400_000;
      const seen = { verdict, statusCode: status, now: at, exhausted: { firstAttemptAt: now } };
      assert.equal(observeHealth(health, seen, xWebhook.disable), null);
    }
    assert.equal(endpointPause(verdict, status, 60_000, now, xWebhook.pauses), null);
  }
});

test("the document's nine headers, and their values", () => {
  const headers = xWebhook.headers.map((header) => [
    header.name,
    "value" in header ? header.value : `"${header.literal}"`,
  ]);
  assert.deepEqual(headers.slice(0, 10), [
    ["Content-Type", "content_type"],
    ["X-Webhook-ID", "webhook_id"],
    ["X-Webhook-Signature", "x_webhook_signature"],
    ["X-Webhook-Event", "event_type"],
    ["X-Webhook-Delivery", "delivery_id"],
    ["X-Webhook-Attempt", "attempt_number"],
    ["X-Webhook-Timestamp", "timestamp_iso"],
    ["X-Idempotency-Key", "publisher_key"],
    ["User-Agent", '"WebhookService/1.0"'],
    ["Idempotency-Key", "idempotency_key"],
  ]);
  assert.deepEqual(xWebhook.signatureSchemes, ["x-webhook-v1"]);
});
