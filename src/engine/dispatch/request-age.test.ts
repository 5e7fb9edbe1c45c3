/**
 * The cost of long-running requests (docs/decisions/request-age.md), measured by the order of events on a manual clock.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { DispatchScene } from "./dispatch-scene.fixture.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Pace } from "../endpoint/endpoint-states.ts";

/** Creates endpoints of one tenant with some due deliveries each. Their receivers never respond. */
async function hangingEndpoints(
  scene: DispatchScene,
  of: { readonly tenant: string; readonly count: number; readonly pace?: Pace; readonly due?: number },
): Promise<Endpoint[]> {
  const { tenant, count, pace = "unknown", due = 5 } = of;
  const endpoints = Array.from({ length: count }, (_, index) =>
    scene.endpoint(`${tenant} ${index}`, { tenant, pace }),
  );
  for (const endpoint of endpoints) await scene.publish(endpoint, due);
  return endpoints;
}

/** Seconds until the first request to an endpoint starts. */
async function secondsUntilSent(scene: DispatchScene, endpoint: Endpoint): Promise<number> {
  const { id } = endpoint.webhook;
  for (let seconds = 0; seconds < 60; seconds += 0.1) {
    if (scene.sent.includes(id)) return seconds;
    await scene.seconds(0.1);
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * Asserts that each event for these endpoints is sent as soon as it is published. Their receivers respond immediately.
 */
async function assertSentAtOnce(
  scene: DispatchScene,
  quick: readonly Endpoint[],
  seconds: number,
): Promise<void> {
  for (let tenths = 0; tenths < seconds * 10; tenths += 1) {
    for (const endpoint of quick) {
      await scene.publish(endpoint);
      assert.equal(scene.flights.at(-1)?.endpoint, endpoint, `after ${tenths / 10} s`);
      await scene.answer(endpoint);
    }
    await scene.seconds(0.1);
  }
}

suite("waiting requests", () => {
  test("WDS-225 with 300 new hanging endpoints of a tenant, the first webhook of another tenant created then waits for a second", async () => {
    const scene = new DispatchScene({});
    await hangingEndpoints(scene, { tenant: "hanging", count: 300 });
    const first = scene.endpoint("first", { tenant: "other", pace: "unknown" });
    await scene.publish(first);
    const seconds = await secondsUntilSent(scene, first);
    assert.ok(seconds <= 1.1, `${seconds} s`);
    await scene.answer(first);
    await assertSentAtOnce(scene, [first], 10);
  });

  for (const [others, tenants] of [
    ["no other tenant", []],
    ["another tenant", ["other"]],
  ] as const)
    test(`WDS-225 with 300 new hanging endpoints, and ${others}: another new one and a slow one of their tenant wait for less than six seconds`, async () => {
      const scene = new DispatchScene({});
      for (const tenant of tenants) scene.endpoint(tenant, { tenant });
      const quick = scene.endpoint("quick", { tenant: "t" });
      await hangingEndpoints(scene, { tenant: "t", count: 300 });
      const late = scene.endpoint("late", { tenant: "t", pace: "unknown" });
      const slow = scene.endpoint("slow", { tenant: "t", pace: "slow" });
      await scene.publish(late);
      await scene.publish(slow);
      await scene.publish(quick);
      assert.equal(scene.sent.at(-1), "quick", "quick ones have slots that are not theirs");
      const [untilLate, untilSlow] = [
        await secondsUntilSent(scene, late),
        await secondsUntilSent(scene, slow),
      ];
      assert.ok(untilLate < 5, `${untilLate} s`);
      assert.ok(untilSlow < 5, `${untilSlow} s`);
      await scene.seconds(2);
      await scene.publish(slow);
      await scene.publish(scene.endpoint("later", { tenant: "t", pace: "unknown" }));
      assert.equal(scene.sent.at(-1), "later", "all that hang wait now, and new ones go at once");
      assert.equal(scene.dispatcher.inFlight, 305);
    });

  test("WDS-225 with 30 tenants whose four quick webhooks all hang with their provider, quick webhooks of other tenants find a slot each time", async () => {
    const scene = new DispatchScene({});
    const known = Array.from({ length: 5 }, (_, index) =>
      scene.endpoint(`known ${index}`, { tenant: `k${index}` }),
    );
    const provider: Endpoint[] = [];
    for (let nth = 0; nth < 4; nth += 1)
      for (let tenant = 0; tenant < 30; tenant += 1)
        provider.push(scene.endpoint(`t${tenant} ${nth}`, { tenant: `t${tenant}` }));
    for (let quarter = 0; quarter < 40; quarter += 1) {
      for (const endpoint of provider) await scene.publish(endpoint);
      await assertSentAtOnce(scene, known, 0.2);
    }
    assert.ok(provider.every(({ pace }) => pace === "silent"));
    assert.ok(
      provider.every(({ inFlight }) => inFlight >= 1 && inFlight <= 5),
      "active and waiting ones together",
    );
  });

  test("WDS-225 with 30 tenants with ten new hanging webhooks each, a new one of another tenant waits for a second", async () => {
    const scene = new DispatchScene({});
    for (let tenant = 0; tenant < 30; tenant += 1)
      await hangingEndpoints(scene, { tenant: `t${tenant}`, count: 10 });
    for (let nth = 0; nth < 8; nth += 1) {
      const fresh = scene.endpoint(`new ${nth}`, { tenant: `new ${nth}`, pace: "unknown" });
      await scene.publish(fresh);
      const seconds = await secondsUntilSent(scene, fresh);
      assert.ok(seconds <= 1.1, `${seconds} s`);
      await scene.answer(fresh);
    }
  });

  test("WDS-225 a request releases its active slot when it is a second old, not before", async () => {
    const scene = new DispatchScene({ concurrency: 2 });
    const [a, b, c] = ["a", "b", "c"].map((name) => scene.endpoint(name));
    assert.ok(a !== undefined && b !== undefined && c !== undefined);
    for (const endpoint of [a, b, c]) await scene.publish(endpoint);
    scene.clock.advance(999);
    await scene.clock.turn();
    assert.deepEqual([scene.dispatcher.active, scene.inFlight()], [2, ["a", "b"]]);
    scene.clock.advance(1);
    await scene.clock.turn();
    assert.deepEqual([scene.dispatcher.active, scene.inFlight()], [1, ["a", "b", "c"]]);
    for (const endpoint of [a, b, c]) await scene.answer(endpoint);
    assert.deepEqual(
      [scene.dispatcher.active, scene.dispatcher.inFlight, scene.waitingSlots.inUse],
      [0, 0, 0],
    );
  });

  test("WDS-167 active and waiting requests both count for their webhook, and a webhook that never responded may have one", async () => {
    const scene = new DispatchScene({});
    const quick = scene.endpoint("quick");
    const fresh = scene.endpoint("fresh", { pace: "unknown" });
    await scene.publish(quick, 20);
    await scene.publish(fresh, 20);
    await scene.seconds(20);
    assert.deepEqual([quick.inFlight, quick.active, fresh.inFlight], [5, 0, 1]);
    await scene.answer(fresh, "silent");
    assert.equal(fresh.inFlight, 1, "a timeout is no answer");
    await scene.answer(fresh, "slow");
    assert.equal(fresh.inFlight, 2);
  });

  test("WDS-225 if all waiting slots are in use, requests stay active, and quick endpoints keep their slots", async () => {
    const scene = new DispatchScene({ concurrency: 8, waitingRequests: 4 });
    const hanging = await hangingEndpoints(scene, { tenant: "t", count: 30 });
    await scene.seconds(20);
    assert.equal(scene.waitingSlots.inUse, 4, "it was not known that these would hang");
    assert.ok(
      scene.dispatcher.active <= 6,
      `three quarters are for those that are not quick: ${scene.dispatcher.active}`,
    );
    const quick = scene.endpoint("quick", { tenant: "t" });
    await assertSentAtOnce(scene, [quick], 1);
    for (const left of [3, 3]) {
      const waiting = scene.flights.find(({ place }) => place.waiting !== null) ?? assert.fail("none waits");
      await scene.answer(waiting.endpoint, "silent");
      assert.equal(scene.waitingSlots.inUse, left, "an active one that hangs takes a slot of three quarters");
    }
    for (const endpoint of hanging) while (endpoint.inFlight > 0) await scene.answer(endpoint, "slow");
    while (scene.flights.length > 0) await scene.answer(scene.flights[0]?.endpoint ?? assert.fail(), "slow");
    assert.deepEqual([scene.dispatcher.active, scene.waitingSlots.inUse], [0, 0]);
  });

  test("WDS-225 endpoints that were silent before use three quarters of the waiting slots, so some remain for slow ones", async () => {
    const scene = new DispatchScene({ waitingRequests: 100 });
    await hangingEndpoints(scene, { tenant: "t", count: 300, pace: "silent" });
    await scene.seconds(30);
    assert.ok(scene.waitingSlots.inUse <= 75, String(scene.waitingSlots.inUse));
    const slow = await hangingEndpoints(scene, { tenant: "t", count: 10, pace: "slow", due: 1 });
    await scene.seconds(2);
    assert.ok(
      slow.every(({ inFlight, active }) => inFlight === 1 && active === 0),
      "all of them wait",
    );
  });

  test("WDS-225 the limit of a host counts active requests; those that wait for a second are not among them", async () => {
    const scene = new DispatchScene({ hostConcurrency: 2 });
    const hanging = await hangingEndpoints(scene, { tenant: "t", count: 4 });
    const quick = scene.endpoint("quick", { tenant: "t" });
    await scene.publish(quick);
    assert.equal(quick.inFlight, 1, "a quarter is for quick ones, and at least one place");
    await scene.answer(quick);
    await scene.seconds(4);
    assert.ok(hanging.every(({ inFlight }) => inFlight === 1));
  });

  test("WDS-225 large bodies count as several requests to limit memory", async () => {
    const scene = new DispatchScene({ waitingRequests: 20 });
    const endpoints = Array.from({ length: 20 }, (_, index) => scene.endpoint(`large ${index}`));
    for (const endpoint of endpoints) {
      const [lane] = endpoint.lanes.values();
      lane?.push({ ...scene.delivery(), body: Buffer.alloc(262_144) }, scene.clock.now() + 300_000);
      if (lane !== undefined) scene.dispatcher.consider(lane);
    }
    await scene.clock.turn();
    await scene.seconds(2);
    assert.equal(scene.flights.filter(({ place }) => place.waiting !== null).length, 4, "five slots each");
  });
});
