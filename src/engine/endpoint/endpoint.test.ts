import assert from "node:assert/strict";
import { test } from "node:test";
import { recordResult } from "../../domain/circuit-breaker.ts";
import { DispatchScene } from "../dispatch/dispatch-scene.fixture.ts";
import { bareEndpoint } from "./bare-endpoint.fixture.ts";
import { paces } from "./endpoint-states.ts";

test("the last response of an endpoint is known after a restart and to its next owner", () => {
  for (const pace of paces) {
    const scene = new DispatchScene({});
    const before = scene.endpoint("before", { pace });
    const after = scene.endpoint("after", { pace: "unknown" });
    after.restore(before.state());
    assert.equal(after.pace, pace);
  }
});

test("a stored endpoint of an earlier version counts as unknown", () => {
  const scene = new DispatchScene({});
  const { health, ...rest } = scene.endpoint("before").state();
  const { pace: _, ...known } = JSON.parse(health ?? "") as Record<string, unknown>;
  const after = scene.endpoint("after");
  after.restore({ ...rest, health: JSON.stringify(known) });
  assert.equal(after.pace, "unknown");
});

test("a wait that began while the clock was ahead starts again once the clock is right", () => {
  const now = 1_800_000_000_000;
  const ahead = now + 86_400_000;
  const endpoint = bareEndpoint({ now: ahead });
  endpoint.pause({ until: ahead + 60_000, reason: "failure" }, ahead);
  const { circuitBreaker } = endpoint.policy;
  for (let n = 0; n < circuitBreaker.minimumThroughput; n++)
    recordResult(endpoint.circuit, circuitBreaker, ahead, false, null);
  assert.equal(endpoint.clockSetBack(now), true);
  assert.equal(endpoint.pausedUntil, now + 60_000);
  assert.equal(endpoint.circuit.halfOpenAt, now + circuitBreaker.sleepWindowMs);
  assert.equal(endpoint.clockSetBack(now + 5_000), false);
});

test("a pause and a circuit from a correct clock stay unchanged when the clock is set back", () => {
  const now = 1_800_000_000_000;
  const endpoint = bareEndpoint({ now });
  endpoint.pause({ until: now + 86_400_000, reason: "retry_after" }, now);
  assert.equal(endpoint.clockSetBack(now), false);
  assert.equal(endpoint.pausedUntil, now + 86_400_000);
});
