import assert from "node:assert/strict";
import { test } from "node:test";
import type { Priority } from "../../domain/delivery.ts";
import type { ClaimedDelivery, DeliveryStore, Lease } from "../../ports/store/deliveries.ts";
import type { Metrics } from "../../ports/telemetry.ts";
import { WaitingSlots } from "../../domain/request-slots.ts";
import { soleOwner } from "../endpoint/ownership.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import { DispatchScene } from "./dispatch-scene.fixture.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { Lane } from "../endpoint/lane.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { TenantQueue } from "../endpoint/tenant-queue.ts";
import { Wakeups } from "../endpoint/wakeups.ts";

const leaseMs = 300_000;
const hourMs = 3_600_000;

/** A dispatcher for tests of a lane and its leases. Its store supports only releases. */
function newDispatcher(clock: ManualClock, released: Lease[] = []) {
  const store = {
    release: async (leases: readonly Lease[]) => void released.push(...leases),
    claim: async () => assert.fail("nothing is claimed here"),
  } as unknown as DeliveryStore;
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  return new Dispatcher({
    store,
    clock,
    wakeups: new Wakeups(clock),
    leaseMs,
    telemetry: { log, metrics: {} as Metrics },
    severalTenants: () => false,
    concurrency: 10,
    webhookConcurrency: 5,
    hostConcurrency: null,
    bufferBytesMax: 1_000_000,
    waitingSlots: new WaitingSlots(0, () => false),
    attempts: { start: () => assert.fail("nothing is sent here") },
    settler: { withoutAttempt: () => assert.fail("every delivery has its body, and none expires") },
    states: { circuitMoved() {} },
    notes: null,
    commits: { backlog: 0, trouble: null },
    shortages: { pausing: false },
    ownership: () => soleOwner,
    backlog: () => ({ finished: true }),
  });
}

/** Has only the endpoint members that a lane uses. */
function newLane(ordering: "none" | "strict", woken: Lane[] = []): Lane {
  const endpoint = { owned: true, laneWoke: (lane: Lane) => woken.push(lane) } as unknown as Endpoint;
  return new Lane({ webhookId: "webhook-1", ordering, eventType: null }, endpoint);
}

/** Has only the fields that a lane reads. */
function delivery(priority: Priority = "normal"): ClaimedDelivery {
  return {
    lease: { ref: 1, leaseToken: 1 },
    priority,
    body: Buffer.from("{}"),
    progress: { createdAt: 0 },
  } as unknown as ClaimedDelivery;
}

test("I-18 a lane whose lease was lost is checked when the lease ends, even if the clock was set back", () => {
  const clock = new ManualClock();
  const dispatcher = newDispatcher(clock);
  const woken: Lane[] = [];
  const lane = newLane("none", woken);
  dispatcher.lost({ lane });
  clock.wallOffsetMs = -hourMs;
  clock.advance(hourMs);
  assert.deepEqual(woken, [], "the lease is a wall-clock time and still runs");
  clock.advance(leaseMs);
  assert.deepEqual(woken, [lane]);
});

test("I-7 in an ordered lane nothing overtakes a head whose lease was lost", async () => {
  const scene = new DispatchScene({});
  const endpoint = scene.endpoint("strict", { ordering: "strict" });
  const [lane] = endpoint.lanes.values();
  assert.ok(lane !== undefined);
  await scene.publish(endpoint, 2);
  const [head] = scene.flights;
  assert.ok(head !== undefined);
  const { reservations } = scene.dispatcher;
  assert.equal(reservations.reserve(lane, 0, 2), true, "it would be kept in memory");
  scene.dispatcher.answered(head, "quick", true);
  scene.dispatcher.lost(head);
  const underWay = scene.delivery();
  reservations.accept(lane, underWay);
  await scene.clock.turn();
  assert.deepEqual(
    scene.released.map(({ ref }) => ref),
    [2, underWay.lease.ref],
    "what was in memory waits in the store behind the head, and so does what was being committed",
  );
  assert.equal(reservations.reserve(lane, 0, 2), false, "nor is anything newer kept in memory");

  scene.claim = () => ({
    deliveries: [head.delivery],
    more: { high: false, normal: false, low: false },
    nextDueAt: null,
  });
  scene.clock.advance(leaseMs);
  await scene.clock.turn();
  assert.deepEqual(
    scene.flights.map(({ delivery: { lease } }) => lease.ref),
    [1, 1],
    "when the lease ends the head is claimed and sent again",
  );
});

test("I-20 a delivery committed after the stop releases its lease, and the stop waits for it", async () => {
  const clock = new ManualClock();
  const released: Lease[] = [];
  const dispatcher = newDispatcher(clock, released);
  const lane = newLane("none");
  lane.reserve();
  await dispatcher.stop([]);
  const late = delivery();
  dispatcher.reservations.accept(lane, late);
  await dispatcher.released();
  assert.deepEqual(released, [late.lease]);
  assert.equal(lane.releasing, 0);
});

test("an ordered lane is served with the priority of its head, or as normal while that is unknown", () => {
  const lane = newLane("strict");
  assert.equal(lane.headTier(), -1);
  lane.markAllMore();
  assert.equal(lane.headTier(), 1, "what waits in the store may have any priority");
  lane.push(delivery("high"), leaseMs);
  assert.equal(lane.headTier(), 0);
  lane.take();
  lane.push(delivery("low"), leaseMs);
  assert.equal(lane.headTier(), 2);
});

test("a flood of high priority is served first, and lower priorities get one turn in eight", () => {
  const tenantQueue = new TenantQueue("default", () => {});
  const high = [bareEndpoint(), bareEndpoint()];
  const normal = bareEndpoint({ id: "normal" });
  const low = bareEndpoint({ id: "low" });
  const tiers = new Map([
    [high[0] as Endpoint, 0],
    [high[1] as Endpoint, 0],
    [normal, 1],
    [low, 2],
  ]);
  for (const [one, tier] of tiers) tenantQueue.enqueue(one, tier);
  const served: unknown[] = [];
  for (let turn = 0; turn < 16; turn += 1) {
    const next = tenantQueue.next() as Endpoint;
    served.push(high.includes(next) ? "high" : next.webhook.id);
    tenantQueue.enqueue(next, tiers.get(next) ?? 0);
  }
  assert.equal(served.filter((name) => name === "high").length, 12);
  assert.equal(served.filter((name) => name === "normal").length, 2);
  assert.equal(served.filter((name) => name === "low").length, 2);
});

test("slow endpoints with a backlog do not keep shared slots from one that waits", async () => {
  for (const tenants of [
    ["t", "t", "t"],
    ["t", "u", "v"],
  ]) {
    const scene = new DispatchScene({ concurrency: 4 });
    const [a, b, waiting] = ["a", "b", "waiting"].map((name, index) =>
      scene.endpoint(name, { pace: "unknown", tenant: tenants[index] ?? "" }),
    );
    assert.ok(a !== undefined && b !== undefined && waiting !== undefined);
    for (const endpoint of [a, b]) await scene.publish(endpoint, 20);
    for (let n = 0; n < 5; n += 1) await scene.publish(waiting);
    for (let n = 0; n < 12; n += 1) await scene.answer(scene.flights[0]?.endpoint ?? assert.fail(), "slow");
    const turns = scene.sent.filter((name) => name === "waiting").length;
    assert.ok(turns >= 3, scene.sent.join(" "));
  }
});

test("an endpoint that waits for a shared slot is queued once, however much is published for it", async () => {
  const scene = new DispatchScene({ concurrency: 4 });
  const [a, b, busy, late] = ["a", "b", "busy", "late"].map((name) =>
    scene.endpoint(name, { pace: "unknown", tenant: name }),
  );
  assert.ok(a !== undefined && b !== undefined && busy !== undefined && late !== undefined);
  for (const endpoint of [a, b]) await scene.publish(endpoint, 20);
  for (let n = 0; n < 30; n += 1) await scene.publish(busy);
  await scene.publish(late);
  for (let n = 0; n < 6; n += 1) await scene.answer(scene.flights[0]?.endpoint ?? assert.fail(), "slow");
  assert.ok(scene.sent.includes("late"), scene.sent.join(" "));
});

test("an endpoint that waits for a shared slot keeps its turn when an unshared slot is freed", async () => {
  const scene = new DispatchScene({ concurrency: 5 });
  const [a, b, first, second] = ["a", "b", "first", "second"].map((name) =>
    scene.endpoint(name, { pace: "slow" }),
  );
  assert.ok(a !== undefined && b !== undefined && first !== undefined && second !== undefined);
  const quick = scene.endpoint("quick");
  await scene.publish(a, 2);
  for (const endpoint of [b, first, second, quick, quick]) await scene.publish(endpoint);
  for (let n = 0; n < 2; n += 1) await scene.answer(quick);
  await scene.answer(a, "slow");
  assert.deepEqual(scene.inFlight(), ["a", "b", "first"]);
});

test("WDS-225 tenants take turns after four deliveries each, however many deliveries are due", async () => {
  const scene = new DispatchScene({ concurrency: 100, webhookConcurrency: 20 });
  const [a, b] = ["a", "b"].map((tenant) => scene.endpoint(tenant, { tenant }));
  assert.ok(a !== undefined && b !== undefined);
  for (const endpoint of [a, b]) {
    const [lane] = endpoint.lanes.values();
    for (let n = 0; n < 10; n += 1) lane?.push(scene.delivery(), scene.clock.now() + leaseMs);
    if (lane !== undefined) scene.dispatcher.consider(lane);
  }
  await scene.clock.turn();
  assert.equal(scene.sent.join(""), "aaaabbbbaaaabbbbaabb");
});
