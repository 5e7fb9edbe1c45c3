import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { DispatchScene } from "../dispatch/dispatch-scene.fixture.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Pace } from "./endpoint-states.ts";
import { seededNumbers } from "../../../test/services/seeded-numbers.fixture.ts";

/** A tenant with this many endpoints, each with five due deliveries. */
async function crowd(
  scene: DispatchScene,
  of: { readonly tenant: string; readonly endpoints: number; readonly pace: Pace },
): Promise<Endpoint[]> {
  const endpoints = Array.from({ length: of.endpoints }, (_, index) =>
    scene.endpoint(`${of.tenant}${index}`, { tenant: of.tenant, pace: of.pace }),
  );
  for (const endpoint of endpoints) await scene.publish(endpoint, 5);
  return endpoints;
}

function countOf(scene: DispatchScene, tenant: string): number {
  return scene.flights.filter(({ endpoint }) => endpoint.tenantQueue.tenantId === tenant).length;
}

suite("slots by tenant", () => {
  for (const [pace, most] of [
    ["quick", 64],
    ["unknown", 62],
    ["slow", 62],
    ["silent", 25],
  ] as const)
    test(`300 ${pace} endpoints of one tenant that never respond leave slots to every endpoint of another`, async () => {
      const scene = new DispatchScene({});
      const small = (["quick", "unknown", "slow", "silent"] as const).map((each) =>
        scene.endpoint(each, { tenant: "small", pace: each }),
      );
      await crowd(scene, { tenant: "crowd", endpoints: 300, pace });
      assert.equal(countOf(scene, "crowd"), most);
      for (const endpoint of small) {
        await scene.publish(endpoint);
        assert.equal(scene.flights.at(-1)?.endpoint, endpoint, `${endpoint.pace} goes at once`);
      }
    });

  test("twenty small tenants find slots next to three greedy ones", async () => {
    const scene = new DispatchScene({});
    const small = Array.from({ length: 20 }, (_, index) =>
      scene.endpoint(`small${index}`, { tenant: `small${index}`, pace: "slow" }),
    );
    for (const [tenant, pace] of [
      ["hangs", "silent"],
      ["new", "unknown"],
      ["backlog", "quick"],
    ] as const)
      await crowd(scene, { tenant, endpoints: 300, pace });
    for (const endpoint of small) await scene.publish(endpoint);
    const waiting = 20 - small.filter(({ inFlight }) => inFlight > 0).length;
    assert.ok(waiting <= 12, `${waiting} of them wait`);
    await scene.seconds(1);
    assert.equal(small.filter(({ inFlight }) => inFlight > 0).length, 20, "a second later");
  });

  test("a tenant that alone has webhooks uses every slot", async () => {
    const scene = new DispatchScene({});
    await crowd(scene, { tenant: "only", endpoints: 60, pace: "quick" });
    assert.equal(countOf(scene, "only"), 100);
  });

  test("a tenant that had all slots gives them up as soon as there is another", async () => {
    const scene = new DispatchScene({});
    const endpoints = await crowd(scene, { tenant: "first", endpoints: 60, pace: "quick" });
    const second = scene.endpoint("second", { tenant: "second", pace: "unknown" });
    await scene.publish(second);
    assert.equal(countOf(scene, "second"), 0, "every place is taken");
    await scene.answer(endpoints[0] as Endpoint);
    assert.equal(countOf(scene, "second"), 1);
    for (let n = 0; n < 60; n += 1) await scene.answer(scene.flights[0]?.endpoint ?? assert.fail());
    assert.equal(countOf(scene, "first"), 64, "about two thirds, and the second has one");
  });

  test("freed slots go to tenants in turn, however many endpoints of each wait", async () => {
    const scene = new DispatchScene({ concurrency: 8 });
    await crowd(scene, { tenant: "a", endpoints: 50, pace: "slow" });
    await crowd(scene, { tenant: "b", endpoints: 2, pace: "slow" });
    await crowd(scene, { tenant: "c", endpoints: 2, pace: "slow" });
    const from = scene.sent.length;
    for (let n = 0; n < 18; n += 1) await scene.answer(scene.flights[0]?.endpoint ?? assert.fail(), "slow");
    const turns = (tenant: string): number =>
      scene.sent.slice(from).filter((name) => name.startsWith(tenant)).length;
    assert.ok(turns("b") >= 5 && turns("c") >= 5, scene.sent.slice(from).join(" "));
  });

  test("a silent endpoint that responds again no longer counts as silent", async () => {
    const scene = new DispatchScene({});
    scene.endpoint("other", { tenant: "other" });
    const [first] = await crowd(scene, { tenant: "t", endpoints: 30, pace: "silent" });
    assert.equal(countOf(scene, "t"), 25);
    await scene.answer(first as Endpoint, "quick");
    assert.ok((first as Endpoint).inFlight > 2, "it may have more than two again");
  });

  test("in any order of starts and ends, everything is sent and no limit is exceeded", async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    for (let round = 0; round < 30; round += 1) await randomWorld(seed + round);
  });
});

/** Random tenants, endpoints, publishes and responses. At the end, all pending requests complete. */
async function randomWorld(seed: number): Promise<void> {
  const random = seededNumbers(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const concurrency = pick([1, 2, 3, 5, 8, 20]);
  const scene = new DispatchScene({ concurrency, hostConcurrency: pick([null, 1, 3]) });
  const allPaces = ["quick", "unknown", "slow", "silent"] as const;
  const endpoints = Array.from({ length: pick([3, 12, 30]) }, (_, index) =>
    scene.endpoint(`e${index}`, {
      tenant: `t${Math.floor(random() * 4)}`,
      host: `h${Math.floor(random() * 6)}`,
      pace: pick(allPaces),
      ordering: pick(["none", "strict"]),
    }),
  );
  let published = 0;
  const answer = async (): Promise<void> => {
    if (scene.flights.length > 0) await scene.answer(pick(scene.flights).endpoint, pick(allPaces));
  };
  for (let step = 0; step < 150; step += 1) {
    if (random() < 0.6) {
      const count = 1 + Math.floor(random() * 4);
      published += count;
      await scene.publish(pick(endpoints), count);
    } else await answer();
    assert.ok(scene.flights.length <= concurrency, `seed ${seed}`);
  }
  while (scene.flights.length > 0) await answer();
  assert.equal(scene.sent.length, published, `seed ${seed}`);
}
