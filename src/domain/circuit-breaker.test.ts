import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  allow,
  type CircuitBreakerState,
  circuitFromJson,
  circuitSignal,
  circuitToJson,
  type CircuitTransition,
  createCircuit,
  forceClose,
  forceMsMax,
  forceOpen,
  probeLeaseMs,
  recordResult,
  releaseProbe,
  resetCircuit,
  snapshotCircuit,
} from "./circuit-breaker.ts";
import { classify } from "./classify.ts";
import { standard } from "./profiles/standard.ts";

const start = 1_800_000_000_000;
const config = standard.circuitBreaker;

function recordMany(state: CircuitBreakerState, results: string, now = start): CircuitTransition | null {
  let last: CircuitTransition | null = null;
  for (const result of results) last = recordResult(state, config, now, result === "+", null) ?? last;
  return last;
}

function opened(): CircuitBreakerState {
  const state = createCircuit(start);
  recordMany(state, "----------");
  return state;
}

function probe(state: CircuitBreakerState, now: number): number {
  const permission = allow(state, config, now);
  assert.ok(permission.kind === "probe");
  return permission.lease;
}

test("WDS-53 WDS-54 WDS-138 WDS-134 WDS-137 WDS-143 opens if half of at least ten calls failed", () => {
  const cases = [
    ["+++++-----", "open"],
    ["++++++----", "closed"],
    ["---------", "closed"],
    ["----------", "open"],
  ] as const;
  for (const [results, phase] of cases) {
    const state = createCircuit(start);
    const transition = recordMany(state, results);
    assert.equal(state.phase, phase, results);
    assert.deepEqual(transition, phase === "open" ? { from: "closed", to: "open" } : null);
  }
});

test("ten equal results count as ten", () => {
  const state = createCircuit(start);
  recordMany(state, "++++++++++");
  const { successCountInWindow, totalCallsInWindow } = snapshotCircuit(state, config, start);
  assert.deepEqual([successCountInWindow, totalCallsInWindow], [10, 10]);
});

test("WDS-55 WDS-136 WDS-25 failures 61 s ago do not open it, failures 58 s ago do", () => {
  for (const [elapsedMs, phase] of [
    [61_000, "closed"],
    [58_000, "open"],
  ] as const) {
    const state = createCircuit(start);
    recordMany(state, "---------");
    recordMany(state, "-", start + elapsedMs);
    assert.equal(state.phase, phase);
  }
});

test("WDS-56 WDS-139 WDS-144 WDS-147 WDS-97 an open circuit rejects until the sleep window ends, then probes", () => {
  const state = opened();
  const until = start + config.sleepWindowMs;
  assert.deepEqual(allow(state, config, until - 1), { kind: "deny", reason: "circuit_open", until });
  const permission = allow(state, config, until);
  assert.ok(permission.kind === "probe");
  assert.deepEqual(permission.transition, { from: "open", to: "half_open" });
});

test("WDS-57 WDS-145 exactly three probes are allowed, and the fourth gets the time to wait for", () => {
  const state = opened();
  const now = start + config.sleepWindowMs;
  for (let count = 0; count < 3; count += 1) probe(state, now + count);
  const denied = allow(state, config, now + 3);
  assert.deepEqual(denied, {
    kind: "deny",
    reason: "half_open_probe_limit_reached",
    until: now + probeLeaseMs,
  });
});

test("WDS-140 WDS-141 WDS-148 two of three successful probes close it with an empty window, one of three opens it again", () => {
  for (const [results, phase] of [
    ["+-+", "closed"],
    ["-+-", "open"],
  ] as const) {
    const state = opened();
    const now = start + config.sleepWindowMs;
    const leases = [probe(state, now), probe(state, now), probe(state, now)];
    const transitions = leases.map((lease, index) =>
      recordResult(state, config, now + 9, results[index] === "+", lease),
    );
    assert.deepEqual(transitions, [null, null, { from: "half_open", to: phase }]);
    const snapshot = snapshotCircuit(state, config, now + 9);
    assert.equal(snapshot.nextHalfOpenAt, phase === "open" ? now + 9 + config.sleepWindowMs : null);
    if (phase === "closed") assert.equal(snapshot.totalCallsInWindow, 0);
  }
});

test("a crashed probe frees its slot, and its late result is ignored", () => {
  const state = opened();
  const now = start + config.sleepWindowMs;
  const crashed = probe(state, now);
  probe(state, now);
  probe(state, now);
  assert.equal(allow(state, config, now + probeLeaseMs - 1).kind, "deny");
  for (let count = 0; count < 3; count += 1) probe(state, now + probeLeaseMs);
  assert.equal(recordResult(state, config, now + probeLeaseMs, true, crashed), null);
  assert.equal(snapshotCircuit(state, config, now + probeLeaseMs).halfOpenSuccesses, 0);
});

test("a released probe can be used by another request", () => {
  const state = opened();
  const now = start + config.sleepWindowMs;
  const leases = [probe(state, now), probe(state, now), probe(state, now)];
  releaseProbe(state, leases[1] ?? 0);
  probe(state, now);
  assert.equal(allow(state, config, now).kind, "deny");
});

test("requests sent before the circuit opened have no effect when they end", () => {
  const state = opened();
  const now = start + config.sleepWindowMs;
  probe(state, now);
  assert.equal(recordMany(state, "++++++++++", now), null);
  assert.equal(state.phase, "half_open");
});

test("a probe limit lowered while probes are in flight cannot lock the circuit", () => {
  const state = opened();
  const now = start + config.sleepWindowMs;
  const leases = [probe(state, now), probe(state, now)];
  for (const lease of leases) recordResult(state, config, now, true, lease);
  const lowered = { ...config, halfOpenMaxCalls: 1 };
  const permission = allow(state, lowered, now);
  assert.ok(permission.kind === "probe");
  assert.deepEqual(recordResult(state, lowered, now, true, permission.lease), {
    from: "half_open",
    to: "closed",
  });
});

test("WDS-58 WDS-142 forced open: nothing is sent until the given time, then it probes; the time is limited", () => {
  const state = createCircuit(start);
  const untilMs = start + 3_600_000;
  assert.deepEqual(forceOpen(state, { untilMs, now: start }), { from: "closed", to: "open" });
  const denied = { kind: "deny", reason: "manually_forced_open", until: untilMs };
  assert.deepEqual(allow(state, config, untilMs - 1), denied);
  assert.deepEqual(allow(state, { ...config, enabled: false }, untilMs - 1), denied);
  probe(state, untilMs);
  forceOpen(state, { untilMs: Number.MAX_SAFE_INTEGER, now: start });
  assert.equal(state.forcedOpenUntil, start + forceMsMax);
});

test("forced closed: does not open until the given time", () => {
  const state = opened();
  const untilMs = start + 10_000;
  assert.deepEqual(forceClose(state, { untilMs, now: start }), { from: "open", to: "closed" });
  assert.equal(recordMany(state, "--------------------", start + 9_999), null);
  assert.deepEqual(recordMany(state, "-", untilMs), { from: "closed", to: "open" });
});

test("reset: closed with an empty window, after any forced state", () => {
  const state = createCircuit(start);
  assert.equal(resetCircuit(state, start), null);
  forceOpen(state, { untilMs: start + 1_000, now: start });
  recordMany(state, "---");
  assert.deepEqual(resetCircuit(state, start), { from: "open", to: "closed" });
  assert.equal(allow(state, config, start).kind, "allow");
  assert.equal(snapshotCircuit(state, config, start).totalCallsInWindow, 0);
});

test("WDS-52 a disabled breaker counts but never opens", () => {
  const state = createCircuit(start);
  const disabled = { ...config, enabled: false };
  for (let count = 0; count < 50; count += 1) recordResult(state, disabled, start, false, null);
  assert.equal(allow(state, disabled, start).kind, "allow");
  assert.equal(snapshotCircuit(state, disabled, start).failureCountInWindow, 50);
});

test("WDS-90 WDS-91 WDS-92 WDS-93 WDS-94 WDS-95 WDS-96 WDS-97 WDS-98 WDS-99 the snapshot has every field of the document", () => {
  const state = createCircuit(start);
  recordMany(state, "++--------");
  assert.deepEqual(snapshotCircuit(state, config, start + 1_000), {
    state: "open",
    failureCountInWindow: 8,
    successCountInWindow: 2,
    totalCallsInWindow: 10,
    errorPercentage: 80,
    windowStart: start + 1_000 - 59_000,
    stateTransitionAt: start,
    nextHalfOpenAt: start + config.sleepWindowMs,
    halfOpenAttempts: 0,
    halfOpenSuccesses: 0,
    forcedOpenUntil: null,
    forcedClosedUntil: null,
  });
  const later = snapshotCircuit(state, config, start + config.sleepWindowMs);
  assert.deepEqual([later.state, later.nextHalfOpenAt], ["half_open", null]);
  probe(state, start + config.sleepWindowMs);
  assert.equal(snapshotCircuit(state, config, start + config.sleepWindowMs).halfOpenAttempts, 1);
});

test("a status caused by the payload does not count against the endpoint", () => {
  const policy = { circuitBreakerIgnoresStatuses: standard.circuitBreakerIgnoresStatuses };
  const signalOf = (status: number) => {
    return circuitSignal(policy, classify({ kind: "response", status, complete: true }, standard), status);
  };
  for (const status of [400, 413, 414, 415, 422, 431]) assert.equal(signalOf(status), "ignored");
  for (const status of [401, 404, 410, 429, 500, 503]) assert.equal(signalOf(status), "failure");
  assert.equal(signalOf(204), "success");
  const timeout = classify({ kind: "failure", category: "timeout", requestSent: true }, standard);
  assert.equal(circuitSignal(policy, timeout, null), "failure");
});

test("an open circuit survives a restart; a half-open one restarts its probes", () => {
  const restore = (state: CircuitBreakerState) => {
    const restored = circuitFromJson(JSON.parse(JSON.stringify(circuitToJson(state))));
    assert.ok(restored !== null);
    return restored;
  };
  const state = opened();
  const now = start + config.sleepWindowMs;
  assert.deepEqual(allow(restore(state), config, now - 1), allow(state, config, now - 1));
  for (let count = 0; count < 3; count += 1) probe(state, now);
  const restored = restore(state);
  for (let count = 0; count < 3; count += 1) probe(restored, now);
  forceOpen(state, { untilMs: start + 100_000, now: start });
  assert.deepEqual(allow(restore(state), config, start), allow(state, config, start));
  for (const junk of [
    null,
    1,
    {},
    { ...circuitToJson(state), state: "ajar" },
    { ...circuitToJson(state), halfOpenAt: "" },
  ]) {
    assert.equal(circuitFromJson(junk), null);
  }
});

const action = fc.constantFrom("request", "request", "request", "succeed", "fail", "lose", "wait", "sleep");

test("property: never more live probes than allowed, and never locked for longer than one lease", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const state = opened();
      let now = start;
      const leases: number[] = [];
      for (const name of actions) {
        if (name === "wait") now += 1_000;
        if (name === "sleep") now += config.sleepWindowMs;
        if (name === "lose") leases.shift();
        if (name === "succeed" || name === "fail")
          recordResult(state, config, now, name === "succeed", leases.shift() ?? null);
        if (name === "request") {
          const permission = allow(state, config, now);
          if (permission.kind === "probe") leases.push(permission.lease);
          if (permission.kind === "deny") assert.ok(permission.until > now);
        }
        const live = state.probes.filter((lease) => lease.expiresAt > now).length;
        assert.ok(live + state.probeResults <= config.halfOpenMaxCalls);
      }
      assert.notEqual(allow(state, config, now + probeLeaseMs).kind, "deny");
    }),
    { numRuns: 200 },
  );
});

test("WDS-147 half-opening stores its time and counts probes from 0, even after failed probes", () => {
  const state = opened();
  let at = start;
  for (const round of ["first", "second"]) {
    at += config.sleepWindowMs;
    const permission = allow(state, config, at);
    assert.ok(permission.kind === "probe", round);
    assert.deepEqual(permission.transition, { from: "open", to: "half_open" }, round);
    const {
      state: phase,
      stateTransitionAt,
      halfOpenAttempts,
      halfOpenSuccesses,
    } = snapshotCircuit(state, config, at);
    assert.deepEqual(
      [phase, stateTransitionAt, halfOpenAttempts, halfOpenSuccesses],
      ["half_open", at, 1, 0],
      round,
    );
    const leases = [permission.lease, probe(state, at), probe(state, at)];
    for (const [index, lease] of leases.entries()) recordResult(state, config, at, index === 0, lease);
    assert.equal(state.phase, "open", "one of three is not enough");
  }
});
