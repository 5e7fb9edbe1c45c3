import assert from "node:assert/strict";
import { test } from "node:test";
import { createCircuit, recordResult, type CircuitTransition } from "../../domain/circuit-breaker.ts";
import { standard } from "../../domain/profiles/standard.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { SendPermits, type SendPermitsOptions } from "./capacity.ts";

test("WDS-147 a half-opening circuit is counted once, when its first probe is sent", () => {
  const now = 1_800_000_000_000;
  const circuit = createCircuit(now);
  const circuitBreaker = standard.circuitBreaker;
  for (let count = 0; count < 10; count += 1) recordResult(circuit, circuitBreaker, now, false, null);
  const moves: CircuitTransition[] = [];
  const permits = new SendPermits({
    states: { circuitMoved: (_endpoint: Endpoint, move: CircuitTransition) => void moves.push(move) },
    telemetry: {},
    wakeups: {},
    notes: null,
    close: () => undefined,
  } as unknown as SendPermitsOptions);
  const endpoint = {
    circuit,
    policy: { circuitBreaker },
    bucket: null,
    webhook: { id: "w1" },
    tenantQueue: { allowance: null, bucket: null, rateWaitMs: () => 0, takeRate: () => undefined },
  } as unknown as Endpoint;
  assert.equal(permits.ask(endpoint, now), undefined, "open");
  assert.deepEqual(moves, []);
  const later = now + circuitBreaker.sleepWindowMs;
  for (let count = 0; count < 2; count += 1)
    assert.notEqual(permits.ask(endpoint, later)?.probe ?? null, null);
  assert.deepEqual(moves, [{ from: "open", to: "half_open" }]);
});
