import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { Cluster } from "./cluster.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

test("WDS-165 a hundred requests a minute, also when the owner changes or dies", async (t) => {
  const cluster = await Cluster.open();
  t.after(() => cluster.close());
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const [api] = await cluster.start("api", "worker", "worker", "worker", "worker");
  assert.ok(api !== undefined);
  const rate = { requests_per_minute: 100, burst: 20 };
  const limited = { url: receiver.url("/"), events: ["order.*"], rate_limit: rate };
  const id = await cluster.addWebhook(api, limited);
  await cluster.publish(api, "order.paid", numbered(100));
  await receiver.waitForRequests(20, 20_000);
  const startedAtMs = receiver.requests[0]?.arrivedAtMs ?? 0;
  assert.equal(await (await cluster.ownerOf(id)).end("SIGTERM"), 0);
  await receiver.waitForRequests(24, 10_000);
  await (await cluster.ownerOf(id)).end("SIGKILL");
  await receiver.waitForRequests(40, 30_000);
  for (const [index, { arrivedAtMs }] of receiver.requests.entries()) {
    // The clock of the receiver starts with the first request, a moment after the bucket gave its token.
    const allowed = 20 + ((arrivedAtMs - startedAtMs + 250) * 100) / 60_000;
    assert.ok(index < allowed + 1, `request ${index} after ${Math.round(arrivedAtMs - startedAtMs)} ms`);
  }
});
