import assert from "node:assert/strict";
import { test } from "node:test";
import { type AttemptObservation, classify } from "../classify.ts";
import { createHealth, endpointPause, observeExhausted, observeHealth } from "../endpoint-health.ts";
import { attemptsMax, nextDelayMs } from "../retry-schedule.ts";
import { ts16a } from "./ts-16a.ts";

const now = 1_800_000_000_000;
const dayMs = 86_400_000;
const { schedule } = ts16a;

function response(status: number, complete = true): AttemptObservation {
  return { kind: "response", status, complete };
}

function pauseAfter(observation: AttemptObservation, retryAfterMs: number | null = null) {
  const statusCode = observation.kind === "response" ? observation.status : null;
  const verdict = classify(observation, ts16a);
  return endpointPause(verdict, statusCode, retryAfterMs, now, ts16a.pauses);
}

test("TS16-104 TS16-105 TS16-106 TS16-107 ten attempts at the printed times, over more than three days", () => {
  let elapsedMs = 0;
  const times = [0];
  for (let attemptCount = 1; attemptCount < attemptsMax(schedule); attemptCount += 1) {
    const query = { schedule, attemptCount, random: 0, category: undefined, retryAfterMs: null };
    elapsedMs += nextDelayMs({ ...query, floorsMs: {} });
    times.push(elapsedMs / 1_000);
  }
  const seconds = [0, 5, 305, 2_105, 9_305, 27_305, 63_305, 113_705, 185_705, 272_105];
  assert.deepEqual(times, seconds);
});

test("TS16-111 jitter lengthens each interval by at most a fifth", () => {
  const at = (random: number) => {
    const query = { schedule, attemptCount: 2, category: undefined, floorsMs: {}, retryAfterMs: null };
    return nextDelayMs({ ...query, random });
  };
  assert.equal(at(0), 300_000);
  assert.ok(at(0.5) > 300_000 && at(0.999) > at(0.5) && at(0.999) <= 360_000);
});

test("TS16-110 a 503 with Retry-After delays the next attempt of this message only", () => {
  const query = { schedule, attemptCount: 1, random: 0, category: "server_error", floorsMs: {} } as const;
  assert.equal(nextDelayMs({ ...query, retryAfterMs: 90_000 }), 90_000);
  assert.equal(pauseAfter(response(503), 90_000), null);
});

test("TS16-94 429 pauses all messages for the longer of a minute and Retry-After", () => {
  assert.deepEqual(pauseAfter(response(429)), { until: now + 60_000, reason: "rate_limit" });
  assert.deepEqual(pauseAfter(response(429), 120_000), { until: now + 120_000, reason: "retry_after" });
});

test("TS16-101 a timeout pauses like a 429, and so does a connection that closes without a response", () => {
  const failure = { kind: "failure", requestSent: true } as const;
  assert.equal(pauseAfter({ ...failure, category: "timeout" })?.until, now + 60_000);
  assert.equal(pauseAfter({ ...failure, category: "network" })?.until, now + 60_000);
  // Refused before a request was sent, so the receiver cannot have failed to respond.
  assert.equal(pauseAfter({ ...failure, category: "network", requestSent: false }), null);
  assert.equal(pauseAfter({ ...failure, category: "dns", requestSent: false }), null);
});

test("TS16-91 502 and 504 throttle the endpoint, 500 does not", () => {
  for (const status of [502, 504])
    assert.deepEqual(pauseAfter(response(status)), { until: now + 5_000, reason: "throttle" });
  assert.equal(pauseAfter(response(500)), null);
});

test("TS16-99 the timeout is between 15 and 30 s", () => {
  assert.ok(ts16a.timeoutMs >= 15_000 && ts16a.timeoutMs <= 30_000);
  assert.equal(ts16a.timeoutGrowthFactor, 1);
});

test("TS16-92 TS16-93 404 and 410 disable after recurring for a day, and not before", () => {
  for (const status of [404, 410]) {
    const health = createHealth();
    const observe = (at: number, seen = status) => {
      const verdict = classify(response(seen), ts16a);
      return observeHealth(health, { verdict, statusCode: seen, now: at, exhausted: null }, ts16a.disable);
    };
    assert.equal(observe(now), null);
    assert.equal(observe(now + dayMs - 1), null);
    assert.deepEqual(observe(now + dayMs), { kind: "disable", reason: "persistent_failure" });
    assert.equal(observe(now + dayMs + 1, 200), null);
    assert.equal(observe(now + dayMs + 2), null, "a success starts the day anew");
  }
});

test("TS16-112 a message that fails its last attempt disables the webhook, even if others succeeded", () => {
  const health = { ...createHealth(), lastAcceptedAt: now };
  const decision = observeExhausted(health, now - dayMs, now, ts16a.disable);
  assert.deepEqual(decision, { kind: "disable", reason: "exhausted" });
});

test("TS16-93 TS16-98 the owner is notified of 404, 410 and redirects", () => {
  for (const status of [404, 410, 301, 302, 307, 308])
    assert.equal(classify(response(status), ts16a).attention, "notify", String(status));
});

test("TS16-58 TS16-65 only v1a is sent by default, and a webhook may choose v1", () => {
  assert.deepEqual(ts16a.signatureSchemes, ["v1a"]);
  assert.deepEqual(ts16a.signatureSchemesAllowed, ["v1a", "v1"]);
});

test("TS16-30 TS16-39 its headers are the three in the document, and none repeats the payload", () => {
  assert.deepEqual(
    ts16a.headers.map((header) => [header.name, "value" in header ? header.value : null]),
    [
      ["Content-Type", "content_type"],
      ["User-Agent", "user_agent"],
      ["Webhook-ID", "event_id"],
      ["Webhook-Timestamp", "timestamp_unix"],
      ["Webhook-Signature", "webhook_signature"],
      ["Idempotency-Key", "idempotency_key"],
    ],
  );
  assert.ok(ts16a.migrationHeaders.every(({ name }) => name.startsWith("X-")));
});

test("the status line decides when a body is truncated", () => {
  assert.equal(classify(response(200, false), ts16a).outcome, "accepted");
});
