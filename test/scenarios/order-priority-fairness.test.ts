import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { RetrySchedule } from "../../src/domain/profile.ts";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";
import { listDeadLetters } from "../listed-deliveries.ts";

const quickRetries: RetrySchedule = {
  kind: "list",
  delaysMs: [100, 100, 100, 100],
  jitter: { from: 1, to: 1 },
};
const retry = { schedule: quickRetries, ageMsMax: null, timeoutMs: null, timeoutGrowthFactor: null };

/** `data.n` of the received events, in order of arrival. */
function numbers(receiver: Receiver): number[] {
  return receiver.requests.map((request) => (JSON.parse(request.text) as { data: { n: number } }).data.n);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

describe("order", () => {
  let world: EngineWorld;
  let receiver: Receiver;
  before(async () => {
    world = await openEngineWorld();
    receiver = await startReceiver();
  });
  after(async () => {
    await world.close();
    await receiver.close();
  });

  test("WDS-61 WDS-199 strict: one at a time, and a failing head blocks everything behind it", async () => {
    await world.addWebhook({ url: receiver.url("/strict"), events: ["strict.*"], ordering: "strict", retry });
    const failuresOf = new Map([
      [3, 2],
      [7, 1],
    ]);
    receiver.script((request) => {
      const { n } = (JSON.parse(request.text) as { data: { n: number } }).data;
      const left = failuresOf.get(n) ?? 0;
      failuresOf.set(n, left - 1);
      return { status: left > 0 ? 500 : 200, delayMs: 5 };
    });
    await world.publishMany(
      "default",
      range(12).map((n) => ({ eventType: n % 2 === 0 ? "strict.a" : "strict.b", data: { n } })),
    );
    await receiver.waitForRequests(15);
    assert.deepEqual(numbers(receiver), [0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11]);
    assert.equal(receiver.concurrencyPeak, 1);
    receiver.clear();
  });

  test("strict: a dead-lettered head is a gap, and the lane continues", async () => {
    const webhook = await world.addWebhook({
      url: receiver.url("/gap"),
      events: ["gap.*"],
      ordering: "strict",
      retry,
    });
    receiver.script((request) => ({
      status: (JSON.parse(request.text) as { data: { n: number } }).data.n === 1 ? 422 : 200,
    }));
    await world.publishMany(
      "default",
      range(4).map((n) => ({ eventType: "gap.a", data: { n } })),
    );
    await receiver.waitForRequests(4);
    assert.deepEqual(numbers(receiver), [0, 1, 2, 3]);
    const dead = await listDeadLetters(world.store.history, {
      tenantId: "default",
      webhookIds: [webhook.id],
    });
    assert.deepEqual(
      dead.rows.map((row) => row.progress.reason),
      ["permanent_client_error_422"],
    );
    receiver.clear();
  });

  test("WDS-61 WDS-198 per event type: a failing type blocks only its own lane", async () => {
    await world.addWebhook({
      url: receiver.url("/typed"),
      events: ["typed.*"],
      ordering: "per_event_type",
      retry,
    });
    let failures = 3;
    const quickAreDone = Promise.withResolvers<undefined>();
    receiver.script((request) => {
      const slow = request.text.includes("typed.slow");
      if (request.text.includes('"n":9')) quickAreDone.resolve(undefined);
      if (!slow || failures === 0) return { status: 200 };
      failures -= 1;
      // The response to the last failing request is withheld until the events of the other lane have arrived. Failures
      // must not block that lane.
      return failures > 0 ? { status: 503 } : quickAreDone.promise.then(() => ({ status: 503 }));
    });
    await world.publishMany(
      "default",
      range(10).map((n) => ({ eventType: n % 2 === 0 ? "typed.slow" : "typed.quick", data: { n } })),
    );
    await receiver.waitForRequests(13);
    const all = numbers(receiver);
    assert.deepEqual(
      all.filter((n) => n % 2 === 1),
      [1, 3, 5, 7, 9],
    );
    assert.deepEqual(
      all.filter((n) => n % 2 === 0),
      [0, 0, 0, 0, 2, 4, 6, 8],
    );
    assert.ok(
      all.lastIndexOf(9) < all.lastIndexOf(2),
      "the quick type was done before the slow head succeeded",
    );
    receiver.clear();
  });

  test("order survives a restart with a backlog", async () => {
    await world.addWebhook({ url: receiver.url("/again"), events: ["again.*"], ordering: "strict", retry });
    receiver.script(() => ({ status: 200 }));
    await world.reopen({ delivers: false });
    await world.publishMany(
      "default",
      range(100).map((n) => ({ eventType: "again.a", data: { n }, priority: n % 3 === 0 ? "high" : "low" })),
    );
    await world.reopen();
    await receiver.waitForRequests(100);
    assert.deepEqual(numbers(receiver), range(100));
    receiver.clear();
  });
});

describe("priorities", () => {
  test("WDS-87 under a backlog high goes before normal before low", async () => {
    const world = await openEngineWorld({ delivers: false });
    const receiver = await startReceiver();
    await world.addWebhook({ url: receiver.url(), events: ["p.*"] });
    const priorities = ["low", "normal", "high"] as const;
    await world.publishMany(
      "default",
      range(300).map((n) => ({ eventType: "p.a", data: { n }, priority: priorities[n % 3] ?? "normal" })),
    );
    // One slot in total, so that events arrive in the order in which they are dispatched.
    await world.reopen({ limits: { concurrency: 1 } });
    await receiver.waitForRequests(300);
    const kinds = numbers(receiver).map((n) => priorities[n % 3]);
    assert.deepEqual(kinds.slice(0, 100), Array<string>(100).fill("high"));
    assert.deepEqual(kinds.slice(100, 200), Array<string>(100).fill("normal"));
    assert.deepEqual(kinds.slice(200), Array<string>(100).fill("low"));
    await world.close();
    await receiver.close();
  });

  test("high-priority events overtake a running backlog", async () => {
    const world = await openEngineWorld({ delivers: false });
    const receiver = await startReceiver();
    await world.addWebhook({ url: receiver.url(), events: ["p.*"] });
    await world.publishMany(
      "default",
      range(3_000).map((n) => ({ eventType: "p.a", data: { n } })),
    );
    await world.reopen({ limits: { concurrency: 2 } });
    await receiver.waitForRequests(50);
    await world.publish("default", { eventType: "p.a", data: { n: 99_999 }, priority: "high" });
    const published = receiver.requests.length;
    await receiver.waitUntil(() => numbers(receiver).includes(99_999));
    const overtaken = numbers(receiver).indexOf(99_999) - published;
    assert.ok(overtaken < 20, `${overtaken} normal ones went first`);
    await world.close();
    await receiver.close();
  });
});

describe("fairness", () => {
  test("a tenant with 100,000 due deliveries does not starve one with ten", {
    timeout: 600_000,
  }, async () => {
    const world = await openEngineWorld({ delivers: false });
    const crowd = await startReceiver({ record: false });
    const few = await startReceiver();
    for (let index = 0; index < 20; index += 1) {
      await world.addWebhook({ tenantId: "crowd", url: crowd.url(`/${index}`), events: ["c.*"] });
    }
    await world.addWebhook({ tenantId: "few", url: few.url(), events: ["f.*"] });
    await world.publishMany(
      "crowd",
      range(5_000).map((n) => ({ eventType: "c.a", data: { n } })),
    );
    await world.publishMany(
      "few",
      range(10).map((n) => ({ eventType: "f.a", data: { n } })),
    );
    assert.equal((await world.store.deliveries.depth()).waiting.normal, 100_010);
    // Few slots, so that both tenants compete for every slot.
    await world.reopen({ limits: { concurrency: 10 } });
    await few.waitForRequests(10);
    assert.ok(
      crowd.requestCount < 1_000,
      `the crowd got ${crowd.requestCount} requests before the ten were served`,
    );
    await world.close();
    await crowd.close();
    await few.close();
  });

  test("WDS-166 the webhooks of a tenant share its rate limit, and none of them starves", async (t) => {
    const world = await openEngineWorld();
    t.after(() => world.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    for (const name of ["a", "b", "c"])
      await world.addWebhook({ url: receiver.url(`/${name}`), events: [`${name}.x`] });
    world.engine.applyTenantLimit("default", { requestsPerMinute: 1_200, burst: 1 });
    const types = ["a.x", "b.x", "c.x"];
    const startedAtMs = performance.now();
    await world.publishMany(
      "default",
      range(90).map((n) => ({ eventType: types[Math.floor(n / 30)] ?? "a.x", data: { n } })),
    );
    await receiver.waitForRequests(30);
    const tookMs = performance.now() - startedAtMs;
    assert.ok(tookMs > 29 * 50 - 100, `30 requests at 20 a second and one at once took ${tookMs} ms`);
    const counts = ["/a", "/b", "/c"].map(
      (path) => receiver.requests.slice(0, 30).filter((request) => request.path === path).length,
    );
    assert.ok(Math.min(...counts) >= 8, `the first 30 requests went ${counts.join(", ")}`);
  });
});
