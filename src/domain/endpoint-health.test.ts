import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type AttemptObservation, classify } from "./classify.ts";
import {
  boundedPause,
  createHealth,
  disablesAt,
  type EndpointHealth,
  endpointPause,
  type HealthDecision,
  healthFromJson,
  healthReenabled,
  isFailing,
  noteRecent,
  observeExhausted,
  observeHealth,
  type RecentAttempts,
  recentFromJson,
  suspensionElapsed,
  webhookHealthState,
} from "./endpoint-health.ts";
import { standard } from "./profiles/standard.ts";

const start = 1_800_000_000_000;
const hourMs = 3_600_000;
const rules = standard.disable;

/** A status, or 0 for a network failure. */
function observationOf(status: number): AttemptObservation {
  if (status === 0) return { kind: "failure", category: "network", requestSent: false };
  return { kind: "response", status, complete: true };
}

function observe(
  health: EndpointHealth,
  status: number,
  at: { now: number; firstAttemptAt?: number },
): HealthDecision | null {
  const verdict = classify(observationOf(status), standard);
  const { now, firstAttemptAt } = at;
  const exhausted = firstAttemptAt === undefined ? null : { firstAttemptAt };
  return observeHealth(health, { verdict, statusCode: status === 0 ? null : status, now, exhausted }, rules);
}

test("410 suspends at once and only once; after 24 hours the webhook is disabled", () => {
  const health = createHealth();
  assert.deepEqual(observe(health, 410, { now: start }), { kind: "suspend", reason: "gone" });
  assert.equal(observe(health, 410, { now: start + 1 }), null);
  assert.equal(health.suspendedAt, start);
  assert.equal(suspensionElapsed(start, start + 24 * hourMs - 1, rules), false);
  assert.equal(suspensionElapsed(start, start + 24 * hourMs, rules), true);
  healthReenabled(health);
  assert.deepEqual(observe(health, 410, { now: start + 2 }), { kind: "suspend", reason: "gone" });
});

test("a truncated 410 response suspends nothing", () => {
  const verdict = classify({ kind: "response", status: 410, complete: false }, standard);
  const observation = { verdict, statusCode: 410, now: start, exhausted: null };
  assert.equal(observeHealth(createHealth(), observation, rules), null);
});

test("TS16-92 404 for 24 hours disables, a shorter time does not", () => {
  const health = createHealth();
  assert.equal(observe(health, 404, { now: start }), null);
  assert.equal(observe(health, 404, { now: start + 24 * hourMs - 1 }), null);
  const expected = { kind: "disable", reason: "persistent_failure" };
  assert.deepEqual(observe(health, 404, { now: start + 24 * hourMs }), expected);
});

test("TS16-92 an accepted attempt or another status ends the period of 404, a lost connection does not", () => {
  for (const [between, decided] of [
    [200, false],
    [503, false],
    [0, true],
  ] as const) {
    const health = createHealth();
    observe(health, 404, { now: start });
    observe(health, between, { now: start + hourMs });
    const decision = observe(health, 404, { now: start + 25 * hourMs });
    assert.equal(decision !== null, decided, `404, ${between}, 404`);
  }
});

test("a failure without a response never completes the period of 404", () => {
  const health = createHealth();
  observe(health, 404, { now: start });
  assert.equal(observe(health, 0, { now: start + 25 * hourMs }), null);
});

test("EDS-11.8-3 twenty terminal outcomes without an accepted one between them suspend the webhook", () => {
  const health = createHealth();
  for (let count = 0; count < 19; count += 1) assert.equal(observe(health, 400, { now: start }), null);
  observe(health, 200, { now: start });
  for (let count = 0; count < 19; count += 1) assert.equal(observe(health, 400, { now: start }), null);
  observe(health, 500, { now: start });
  assert.deepEqual(observe(health, 422, { now: start }), { kind: "suspend", reason: "consecutive_terminal" });
});

test("0 disables the count of terminal outcomes", () => {
  const health = createHealth();
  const off = { ...rules, consecutiveTerminalMax: 0 };
  const verdict = classify(observationOf(400), standard);
  for (let count = 0; count < 100; count += 1) {
    assert.equal(observeHealth(health, { verdict, statusCode: 400, now: start, exhausted: null }, off), null);
  }
});

test("an exhausted delivery disables only if nothing succeeded since its first attempt", () => {
  const disabled = { kind: "disable", reason: "exhausted" };
  const health = createHealth();
  observe(health, 200, { now: start });
  observe(health, 500, { now: start + hourMs });
  const later = start + 25 * hourMs;
  assert.equal(observe(health, 500, { now: later, firstAttemptAt: start - 1 }), null);
  assert.deepEqual(observe(health, 500, { now: later, firstAttemptAt: start + 1 }), disabled);
});

test("a schedule of a few seconds disables nothing before the endpoint has failed for a day", () => {
  const health = createHealth();
  for (let n = 0; n < 20; n += 1) observe(health, 200, { now: start });
  const failed = (afterMs: number) =>
    observe(health, 503, { now: start + afterMs, firstAttemptAt: start + afterMs - 3_000 });
  assert.equal(failed(6_000), null);
  assert.equal(failed(24 * hourMs), null, "it was accepted less than a day before its first failure");
  assert.equal(healthFromJson(JSON.parse(JSON.stringify(health)))?.failingSince, start + 6_000);
  assert.deepEqual(failed(6_000 + 24 * hourMs), { kind: "disable", reason: "exhausted" });
  observe(health, 200, { now: start + 31 * hourMs });
  assert.equal(failed(32 * hourMs), null, "one success begins the day anew");
  const expired = observeExhausted(health, start + 32 * hourMs, start + 33 * hourMs, rules);
  assert.equal(expired, null, "nor does one that expired");
});

test("TS16-112 `always` and `never` are exact", () => {
  const health = { ...createHealth(), lastAcceptedAt: start };
  const literal = { ...rules, exhaustedMsMin: 0 };
  assert.equal(observeExhausted(health, start, start, { ...literal, onExhausted: "never" }), null);
  const always = observeExhausted(health, start, start, { ...literal, onExhausted: "always" });
  assert.equal(always?.kind, "disable");
});

test("health is restored from its JSON, and invalid JSON is ignored", () => {
  const health = createHealth();
  observe(health, 404, { now: start });
  assert.deepEqual(healthFromJson(JSON.parse(JSON.stringify(health))), health);
  for (const junk of [null, "x", {}, { ...health, suspendedAt: "x" }])
    assert.equal(healthFromJson(junk), null);
});

test("property: an accepted newest attempt resets the health of an endpoint", () => {
  const statuses = fc.array(fc.constantFrom(0, 200, 400, 404, 410, 500), { maxLength: 40 });
  fc.assert(
    fc.property(statuses, (sequence) => {
      const health = createHealth();
      for (const status of sequence) observe(health, status, { now: start });
      healthReenabled(health);
      observe(health, 200, { now: start + 1 });
      const lastFailedAt = sequence.some((status) => status !== 200) ? start : null;
      assert.deepEqual(health, { ...createHealth(), lastAcceptedAt: start + 1, lastFailedAt });
    }),
  );
});

// ---- pauses ---------------------------------------------------------------------------------------------------

function pauseAfter(observation: AttemptObservation, retryAfterMs: number | null = null) {
  const statusCode = observation.kind === "response" ? observation.status : null;
  const verdict = classify(observation, standard);
  return endpointPause(verdict, statusCode, retryAfterMs, start, standard.pauses);
}

test("TS16-94 429 pauses the endpoint for the longer of Retry-After and a minute", () => {
  assert.deepEqual(pauseAfter(observationOf(429)), { until: start + 60_000, reason: "rate_limit" });
  assert.deepEqual(pauseAfter(observationOf(429), 10_000), { until: start + 60_000, reason: "rate_limit" });
  assert.deepEqual(pauseAfter(observationOf(429), 120_000), {
    until: start + 120_000,
    reason: "retry_after",
  });
});

test("a pause is at most as long as events live, and at most five days, regardless of Retry-After", () => {
  const dayMs = 24 * hourMs;
  const bound = (retryAfterMs: number, ageMsMax: number): number => {
    const pause = pauseAfter(observationOf(429), retryAfterMs);
    assert.ok(pause !== null);
    const bounded = boundedPause(pause, start, ageMsMax);
    assert.equal(bounded.reason, "retry_after");
    return bounded.until - start;
  };
  assert.equal(bound(start, standard.ageMsMax), 5 * dayMs);
  assert.equal(bound(99_999_999_999_000, 30 * dayMs), 5 * dayMs);
  assert.equal(bound(99_999_999_999_000, dayMs), dayMs);
  assert.equal(bound(dayMs, 5 * dayMs), dayMs, "a shorter one is kept to");
});

test("the time at which a suspension or a period of persistent failure will disable the webhook is shown, the earlier of both", () => {
  const health = createHealth();
  assert.equal(disablesAt(health, rules), null);
  health.suspendedAt = start;
  assert.equal(disablesAt(health, rules), start + rules.suspendedToDisabledMs);
  health.persistentFailureSince = start - rules.persistentMs;
  assert.equal(disablesAt(health, rules), start);
  healthReenabled(health);
  assert.equal(disablesAt(health, rules), null);
});

test("503 pauses only with Retry-After; for other statuses Retry-After affects only the delivery", () => {
  assert.equal(pauseAfter(observationOf(503)), null);
  assert.deepEqual(pauseAfter(observationOf(503), 30_000), { until: start + 30_000, reason: "retry_after" });
  assert.equal(pauseAfter(observationOf(500), 30_000), null);
  assert.equal(pauseAfter(observationOf(200), 30_000), null);
});

test("timeouts and 408 pause for a minute, 502 and 504 throttle", () => {
  const timeout: AttemptObservation = { kind: "failure", category: "timeout", requestSent: true };
  assert.deepEqual(pauseAfter(timeout), { until: start + 60_000, reason: "timeout" });
  assert.deepEqual(pauseAfter(observationOf(408)), { until: start + 60_000, reason: "timeout" });
  assert.deepEqual(pauseAfter(observationOf(502)), { until: start + 5_000, reason: "throttle" });
  assert.deepEqual(pauseAfter(observationOf(504)), { until: start + 5_000, reason: "throttle" });
  assert.equal(pauseAfter(observationOf(0)), null);
});

test("TS16-101 a connection closed without a response pauses if the rules say so, and only once requested", () => {
  const rulesWith = { ...standard.pauses, unansweredMs: 45_000 };
  const after = (observation: AttemptObservation, pauses = rulesWith) => {
    const statusCode = observation.kind === "response" ? observation.status : null;
    const verdict = classify(observation, standard);
    return endpointPause(verdict, statusCode, null, start, pauses);
  };
  const unanswered: AttemptObservation = { kind: "failure", category: "network", requestSent: true };
  assert.deepEqual(after(unanswered), { until: start + 45_000, reason: "failure" });
  assert.equal(after(unanswered, standard.pauses), null);
  assert.equal(after({ ...unanswered, requestSent: false }), null);
  // A truncated response counts as a response, because its status line arrived.
  assert.equal(after({ kind: "response", status: 500, complete: false }), null);
});

/** Attempts from the oldest to the newest: `f` failed, `a` was accepted. */
function afterAttempts(attempts: string): RecentAttempts {
  const recent = { count: 0, failures: 0 };
  for (const attempt of attempts) noteRecent(recent, attempt === "f");
  return recent;
}

test("an endpoint is failing when its last three attempts, or most of the last eight, failed", () => {
  const expected: Readonly<Record<string, boolean>> = {
    "": false,
    "f": true,
    "a": false,
    "af": false,
    "aaaaaaaaf": false,
    "aaaaaaaaff": false,
    "aaaaaaaafff": true,
    "aaaafaff": false,
    "fafafffa": true,
    "ffffffff": true,
    "ffffffffa": true,
    "ffffffffaaa": true,
    "ffffffffaaaa": false,
  };
  for (const [attempts, fails] of Object.entries(expected)) {
    assert.equal(isFailing(afterAttempts(attempts)), fails, attempts);
    const stored = recentFromJson(JSON.parse(JSON.stringify(afterAttempts(attempts))));
    assert.equal(isFailing(stored), fails, `${attempts} after a restart`);
  }
});

test("the strictest health rule applies", () => {
  const recent = afterAttempts("fff");
  assert.equal(webhookHealthState("suspended", true, false, recent), "suspended");
  assert.equal(webhookHealthState("active", true, false, recent), "paused");
  assert.equal(webhookHealthState("active", false, false, recent), "circuit_open");
  assert.equal(webhookHealthState("active", false, true, recent), "failing");
  assert.equal(webhookHealthState("active", false, true, afterAttempts("")), "healthy");
});
