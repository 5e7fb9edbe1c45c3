import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster } from "./cluster.fixture.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

suite("workers that disappear", () => {
  test("EDS-3.3-1 WDS-216 another worker continues the work of a killed one within twenty seconds", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    receiver.script(() => ({ delayMs: 50 }));
    const [api] = await cluster.start("api", "worker", "worker", "worker");
    assert.ok(api !== undefined);
    const id = await cluster.addWebhook(api, {
      url: receiver.url("/"),
      events: ["order.*"],
      ordering_guarantee: "strict",
    });
    const published = await cluster.publish(api, "order.paid", numbered(60));
    await receiver.waitForRequests(20);
    await (await cluster.ownerOf(id)).end("SIGKILL");
    const killedAtMs = performance.now();
    const before = receiver.requestCount;
    await receiver.waitForRequests(before + 1);
    const standstillMs = performance.now() - killedAtMs;
    t.diagnostic(`stood still for ${Math.round(standstillMs)} ms`);
    // On an idle machine, this takes twenty seconds. The limit proves that polling, which runs every 30 s, did not find
    // the work.
    assert.ok(standstillMs < 29_000);
    const ids = () => receiver.requests.map(({ headers }) => String(headers["webhook-id"]));
    await receiver.waitUntil(() => new Set(ids()).size === published.length);
    // The head may have been in flight when its worker was lost. It is then sent again with the same key.
    assert.deepEqual([...new Set(ids())], published);
    assert.ok(ids().length <= published.length + 1);
  });

  test("a paused worker notices before it settles or sends anything", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const [api] = await cluster.start("api", "worker", "worker");
    assert.ok(api !== undefined);
    const webhook = { url: receiver.url("/"), events: ["order.*"], ordering_guarantee: "strict" };
    const id = await cluster.addWebhook(api, webhook);
    // The first request fails while its worker is suspended. If that failure was settled, the history would contain a
    // failed attempt.
    receiver.script((_, index) => (index === 0 ? { status: 500, delayMs: 1_000 } : {}));
    const published = await cluster.publish(api, "order.paid", numbered(10));
    await receiver.waitForRequests(1);
    const owner = await cluster.ownerOf(id);
    owner.signal("SIGSTOP");
    await receiver.waitForRequests(11);
    owner.signal("SIGCONT");
    await eventually("the paused worker finds out", {
      ask: async () => owner.output,
      holds: (output) =>
        /other workers serve its webhooks now/.test(output) && /the lease was lost/.test(output),
    });
    const ids = receiver.requests.map(({ headers }) => String(headers["webhook-id"]));
    assert.deepEqual(ids, [published[0], ...published]);
    const attempts = "SELECT count(*) FROM posthorn.attempts";
    assert.equal(await cluster.count(attempts), 10);
    assert.equal(await cluster.count(`${attempts} WHERE outcome <> 0`), 0);
    // Checks that the worker can serve webhooks again.
    await cluster.publish(api, "order.paid", numbered(5));
    await receiver.waitForRequests(16);
    assert.equal(await (await cluster.ownerOf(id)).end("SIGTERM"), 0);
    await cluster.publish(api, "order.paid", numbered(5));
    await receiver.waitForRequests(21);
    assert.equal(receiver.requestCount, 21);
  });
});
