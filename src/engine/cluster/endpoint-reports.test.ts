import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { recordResult } from "../../domain/circuit-breaker.ts";
import { tryTake } from "../../domain/rate-limit.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { explain } from "../endpoint/explain.ts";
import { Lane, laneId } from "../endpoint/lane.ts";
import { applyReport, parseReport, reportOf } from "./endpoint-reports.ts";

const now = 1_800_000_000_000;
const key = (eventType: string): LaneKey => ({ webhookId: "w", ordering: "per_event_type", eventType });

function addLane(
  endpoint: Endpoint,
  given: { readonly eventType: string; readonly wakeAt?: number; readonly isFlying?: boolean },
): Lane {
  const lane = new Lane(key(given.eventType), endpoint);
  if (given.wakeAt !== undefined) lane.sleepUntil(given.wakeAt);
  if (given.isFlying === true) lane.flightBegan();
  endpoint.lanes.set(laneId(lane.key), lane);
  return lane;
}

function count(endpoint: Endpoint, results: string): void {
  for (const result of results) {
    recordResult(endpoint.circuit, endpoint.policy.circuitBreaker, now, result === "+", null);
  }
}

/** Applies an owner's report in another process, after it was serialized. */
function reported(owner: Endpoint, deliveries: readonly string[] = []): Endpoint {
  const other = bareEndpoint({ policy: owner.policy, now });
  const report = reportOf(owner, now, deliveries);
  applyReport(other, report === null ? null : parseReport(JSON.stringify(report)), now);
  return other;
}

const limit = { requestsPerMinute: 60, burst: 1 };

function waiting(fields: { id?: string; eventType?: string; dueAt?: number } = {}): StoredDelivery {
  const { id = "d", eventType = "a", dueAt = now } = fields;
  return { id, lane: key(eventType), progress: { state: "pending", dueAt } } as unknown as StoredDelivery;
}

const reasonFor = (endpoint: Endpoint, delivery = waiting(), at = now) => {
  const { waitingFor, waitingUntil } = explain({ delivery, endpoint, inFlight: false, now: at });
  return [waitingFor, waitingUntil];
};

suite("an owner's report about an endpoint", () => {
  test("has nothing that the store already shows", () => {
    assert.equal(reportOf(bareEndpoint({ now }), now, []), null);
    const idle = bareEndpoint({ now });
    addLane(idle, { eventType: "a", wakeAt: now - 1 });
    assert.equal(reportOf(idle, now, []), null, "a head that was due waits for nothing");
    const old = bareEndpoint({ now });
    count(old, "+-");
    assert.equal(reportOf(old, now + 10 * 60_000, []), null, "results of long ago");
  });

  test("lists deliveries in flight, up to a hundred", () => {
    const owner = bareEndpoint({ now, inFlight: 150 });
    const ids = Array.from({ length: 150 }, (_, index) => `d${index}`);
    const report = reportOf(owner, now, ids);
    assert.equal(report?.inFlight, 150);
    assert.deepEqual(report?.deliveries, ids.slice(0, 100));
  });

  test("says what ordered lanes wait for, and until when", () => {
    const owner = bareEndpoint({ now, inFlight: 1 });
    addLane(owner, { eventType: "sleeps", wakeAt: now + 5_000 });
    addLane(owner, { eventType: "flies", isFlying: true });
    addLane(owner, { eventType: "idle" });
    assert.deepEqual(reportOf(owner, now, [])?.heads, [
      ["t:sleeps", now + 5_000],
      ["t:flies", null],
    ]);
  });

  test("has the counts of the circuit, and an exhausted limit", () => {
    const owner = bareEndpoint({ policy: { rateLimit: limit }, now });
    count(owner, "++-");
    assert.ok(owner.bucket !== null);
    tryTake(owner.bucket, now);
    const report = reportOf(owner, now, []);
    assert.deepEqual([report?.successes, report?.failures], [2, 1]);
    assert.equal(report?.rateFullAt, now + 1_000);
  });

  test("of a version with another layout is ignored", () => {
    for (const document of ["", "{", "null", "[]", "{}", '{"deliveries":[],"heads":[]}', '{"heads":1}'])
      assert.equal(parseReport(document), null, document);
  });
});

suite("interpretation of a report by a process that does not own the endpoint", () => {
  test("shows the delivery in flight, its lane behind it, and nothing else", () => {
    const owner = bareEndpoint({ now, inFlight: 1 });
    addLane(owner, { eventType: "a", isFlying: true });
    const other = reported(owner, ["d1"]);
    assert.deepEqual(reasonFor(other, waiting({ id: "d1" })), ["in_flight", null]);
    assert.deepEqual(reasonFor(other, waiting({ id: "d2" })), ["order", null]);
    assert.deepEqual(reasonFor(other, waiting({ id: "d3", eventType: "b" })), ["capacity", null]);
  });

  test("a delivery that is due later is no longer in flight, even if an older report says so", () => {
    const other = reported(bareEndpoint({ now, inFlight: 1 }), ["d1"]);
    const retry = waiting({ id: "d1", dueAt: now + 15_000 });
    assert.deepEqual(reasonFor(other, retry), ["schedule", now + 15_000]);
  });

  test("the remaining time of an overdue head of a lane is unknown", () => {
    const owner = bareEndpoint({ now });
    addLane(owner, { eventType: "a", wakeAt: now + 5_000 });
    const other = reported(owner);
    assert.deepEqual(reasonFor(other), ["order", now + 5_000]);
    assert.deepEqual(reasonFor(other, waiting({ id: "d2" }), now + 5_000), ["order", null]);
  });

  test("shows the limits of webhook and tenant until they have capacity again", () => {
    const limited = bareEndpoint({ policy: { rateLimit: limit }, now });
    assert.ok(limited.bucket !== null);
    tryTake(limited.bucket, now);
    assert.deepEqual(reasonFor(reported(limited)), ["rate_limit", now + 1_000]);
    const ofTenant = bareEndpoint({ now });
    ofTenant.tenantQueue.limit(limit);
    ofTenant.tenantQueue.takeRate(now);
    assert.deepEqual(reasonFor(reported(ofTenant)), ["tenant_rate_limit", now + 1_000]);
  });

  test("adds counts of the circuit once, however often it is read", () => {
    const owner = bareEndpoint({ now });
    count(owner, "+++--");
    const report = reportOf(owner, now, []);
    const other = bareEndpoint({ now });
    for (let look = 0; look < 3; look += 1) applyReport(other, report, now);
    const { window } = other.circuit;
    assert.deepEqual([window.successes, window.failures], [3, 2]);
    applyReport(other, null, now);
    assert.deepEqual([window.successes, window.failures], [0, 0], "the owner has nothing to tell any more");
  });

  test("ignores what this process saw while it was the owner", () => {
    const former = bareEndpoint({ owned: true, ownerEpoch: 7 });
    addLane(former, { eventType: "a", wakeAt: now + 3_600_000 });
    assert.deepEqual(reasonFor(former), ["order", now + 3_600_000]);
    former.giveUp();
    assert.deepEqual(reasonFor(former), ["order", now + 3_600_000], "until it has given it back");
    former.released();
    assert.deepEqual(reasonFor(former), ["capacity", null]);
  });
});
