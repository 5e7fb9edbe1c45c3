import assert from "node:assert/strict";
import { test } from "node:test";
import { allow, recordResult, type CircuitBreakerState } from "../../domain/circuit-breaker.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { DispatchScene } from "./dispatch-scene.fixture.ts";
import { OldestDue } from "./oldest-due.ts";

const minuteMs = 60_000;

/** One endpoint. Its deliveries in the store have all been due since the start. */
function backlogScene() {
  const scene = new DispatchScene({});
  const endpoint = scene.endpoint("receiver");
  const start = scene.clock.now();
  const [lane] = endpoint.lanes.values();
  lane?.markMore(0);
  const oldestDue = new OldestDue(
    { clock: scene.clock },
    { oldestDue: async () => start },
    null,
    { all: () => [endpoint].values(), get: () => endpoint },
    scene.dispatcher,
  );
  return { scene, endpoint, oldestDue };
}

function openCircuit(endpoint: Endpoint, now: number): void {
  const circuit = endpoint.circuit as CircuitBreakerState;
  const { circuitBreaker } = endpoint.policy;
  for (let failures = 0; circuit.phase === "closed"; failures += 1) {
    assert.ok(failures < 1_000);
    recordResult(circuit, circuitBreaker, now, false, null);
  }
}

test("a backlog that is not held is as late as its oldest delivery", async () => {
  const { scene, oldestDue } = backlogScene();
  scene.clock.advance(5 * minuteMs);
  assert.equal(await oldestDue.ageMs(), 5 * minuteMs);
});

test("WDS-241 a backlog behind a circuit is held while it is open, waiting to probe, and half open", async () => {
  const { scene, endpoint, oldestDue } = backlogScene();
  const circuit = endpoint.circuit as CircuitBreakerState;
  const { circuitBreaker } = endpoint.policy;
  openCircuit(endpoint, scene.clock.now());
  assert.equal(await oldestDue.ageMs(), 0, "open");

  scene.clock.advance(circuit.halfOpenAt - scene.clock.now() + 5 * minuteMs);
  assert.equal(await oldestDue.ageMs(), 0, "due to probe, and no request has asked the circuit yet");

  const probe = allow(circuit, circuitBreaker, scene.clock.now());
  assert.equal(probe.kind, "probe");
  assert.equal(await oldestDue.ageMs(), 0, "half open, with a probe in flight");

  for (let lease = probe.kind === "probe" ? probe.lease : 0; circuit.phase === "half_open"; ) {
    recordResult(circuit, circuitBreaker, scene.clock.now(), true, lease);
    const next = circuit.phase === "half_open" ? allow(circuit, circuitBreaker, scene.clock.now()) : null;
    if (next?.kind === "probe") lease = next.lease;
  }
  assert.ok((await oldestDue.ageMs()) > 5 * minuteMs, "closed: only this system is in the way");
});

test("a disabled breaker holds nothing, whatever its circuit remembers", async () => {
  const { scene, endpoint, oldestDue } = backlogScene();
  openCircuit(endpoint, scene.clock.now());
  const { config } = endpoint;
  const circuitBreaker = { ...config.policy.circuitBreaker, enabled: false };
  endpoint.reconfigure({ ...config, policy: { ...config.policy, circuitBreaker } });
  scene.clock.advance(minuteMs);
  assert.equal(await oldestDue.ageMs(), minuteMs);
});
