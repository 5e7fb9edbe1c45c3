import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.ts";
import { Cluster } from "./cluster.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

suite("limits hold over four workers", () => {
  test("WDS-167 five requests at a time, whoever delivers", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    receiver.script(() => ({ delayMs: 100 }));
    const [api] = await cluster.start("api", "worker", "worker", "worker", "worker");
    assert.ok(api !== undefined);
    const id = await cluster.addWebhook(api, { url: receiver.url("/"), events: ["order.*"] });
    await cluster.publish(api, "order.paid", numbered(100));
    await receiver.waitForRequests(30, 20_000);
    assert.equal(await (await cluster.ownerOf(id)).end("SIGTERM"), 0);
    await receiver.waitForRequests(100, 20_000);
    assert.equal(receiver.concurrencyPeak, 5);
    assert.equal(receiver.requestCount, 100);
  });

  test("WDS-166 the limit of a tenant is over all workers together", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const [api] = await cluster.start("api", "worker", "worker", "worker", "worker");
    assert.ok(api !== undefined);
    const rate = { requests_per_minute: 240, burst: 8 };
    await cluster.call(api, "PUT /v1/tenants/default", { rate_limit: rate });
    for (let index = 0; index < 12; index += 1)
      await cluster.addWebhook(api, { url: receiver.url(`/${index}`), events: ["order.*"] });
    await eventually("every worker has heard of the others", {
      ask: () => cluster.count("SELECT count(*) FROM posthorn.workers"),
      holds: (workers) => workers === 4,
    });
    // One beat later each knows how many share the limit.
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    await cluster.publish(api, "order.paid", numbered(10));
    await receiver.waitForRequests(1, 10_000);
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    const startedAtMs = receiver.requests[0]?.arrivedAtMs ?? 0;
    for (const [index, { arrivedAtMs }] of receiver.requests.entries()) {
      const allowed = rate.burst + ((arrivedAtMs - startedAtMs + 250) * rate.requests_per_minute) / 60_000;
      assert.ok(index < allowed + 1, `request ${index} after ${Math.round(arrivedAtMs - startedAtMs)} ms`);
    }
    assert.ok(receiver.requestCount >= 16, `only ${receiver.requestCount} requests`);
  });
});
