import assert from "node:assert/strict";
import { test } from "node:test";
import { forceOpen } from "../../domain/circuit-breaker.ts";
import { attemptNotes } from "../attempt/attempt-record.ts";
import { DispatchScene } from "../dispatch/dispatch-scene.fixture.ts";
import { GateLog, gateLogFromJson } from "./gates.ts";

const minuteMs = 60_000;

test("a gate that is found closed many times is logged once, from the first time to the last", () => {
  const log = new GateLog();
  for (let at = 0; at <= 10_000; at += 500) log.note("rate_limit", at + 500, at);
  assert.deepEqual(log.within({ from: 0, until: 20_000 }), [
    { reason: "rate_limit", from: 0, until: 10_500 },
  ]);
  assert.deepEqual(log.within({ from: 2_000, until: 3_000 }), [
    { reason: "rate_limit", from: 2_000, until: 3_000 },
  ]);
  assert.deepEqual(log.within({ from: 10_500, until: 20_000 }), []);
});

test("a circuit that opens again after failed probes is one wait; one that opens an hour later is another", () => {
  const log = new GateLog();
  log.note("circuit_open", 30_000, 0);
  log.note("circuit_open", 90_000, 60_000);
  log.note("circuit_open", 61 * minuteMs, 60 * minuteMs);
  assert.deepEqual(log.within({ from: 0, until: 100 * minuteMs }), [
    { reason: "circuit_open", from: 0, until: 90_000 },
    { reason: "circuit_open", from: 60 * minuteMs, until: 61 * minuteMs },
  ]);
});

test("a manually opened gate was closed until then", () => {
  const log = new GateLog();
  log.note("retry_after", 100 * minuteMs, 0);
  log.note("inactive", null, 1_000);
  assert.deepEqual(log.within({ from: 0, until: 5_000 }), [
    { reason: "retry_after", from: 0, until: 5_000 },
    { reason: "inactive", from: 1_000, until: 5_000 },
  ]);
  log.opened(3_000);
  assert.deepEqual(
    log.within({ from: 0, until: 5_000 }).map(({ until }) => until),
    [3_000, 3_000],
  );
});

test("the log keeps a bounded number of periods, and always remembers when repeated closing began", () => {
  const log = new GateLog();
  for (let hour = 0; hour < 1_000; hour += 1)
    for (const waitingFor of ["circuit_open", "timeout_pause"] as const)
      log.note(waitingFor, hour * 60 * minuteMs + 1_000, hour * 60 * minuteMs);
  assert.ok(log.toJSON().length <= 16);
  const waits = log.within({ from: 0, until: Number.MAX_SAFE_INTEGER });
  for (const reason of ["circuit_open", "timeout_pause"])
    assert.equal(waits.find((wait) => wait.reason === reason)?.from, 0);
  assert.deepEqual(gateLogFromJson(JSON.parse(JSON.stringify(log)))?.toJSON(), log.toJSON());
  for (const junk of [undefined, null, "x", {}]) assert.equal(gateLogFromJson(junk), null);
  assert.deepEqual(gateLogFromJson([["no_gate", 1, 2], "x", ["order"], null])?.toJSON(), []);
});

test("WDS-150 WDS-182 the wait behind a circuit is reported from when the delivery was due until it was sent, even across a handover", async () => {
  const scene = new DispatchScene({});
  const endpoint = scene.endpoint("a");
  const { clock } = scene;
  const from = clock.now();
  forceOpen(endpoint.circuit, { now: from, untilMs: from + 900 });
  await scene.publish(endpoint);
  clock.advance(800);
  forceOpen(endpoint.circuit, { now: clock.now(), untilMs: from + 1_700 });
  clock.advance(200);
  await clock.turn();
  assert.equal(scene.flights.length, 0);
  const state = endpoint.state();
  clock.advance(700);
  await clock.turn();
  const [flight] = scene.flights;
  assert.ok(flight !== undefined);
  const { progress } = flight.delivery;
  const answer = { retryAfter: undefined, progress, now: clock.now() };
  const waits = [{ reason: "circuit_open", from, until: from + 1_700 }];
  assert.deepEqual(attemptNotes(flight, answer, null), { retryAfter: null, waits });
  const next = scene.endpoint("next-owner");
  next.restore(state);
  assert.deepEqual(next.gateLog?.within({ from, until: from + minuteMs }), waits);
});

test("a delivery that did not wait has no notes", async () => {
  const scene = new DispatchScene({});
  await scene.publish(scene.endpoint("a"));
  const [flight] = scene.flights;
  assert.ok(flight !== undefined);
  const { progress } = flight.delivery;
  assert.equal(attemptNotes(flight, { retryAfter: undefined, progress, now: 0 }, null), null);
});
