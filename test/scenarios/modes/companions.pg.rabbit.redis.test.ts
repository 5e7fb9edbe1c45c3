/** Proves that the third mode differs from the second one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster } from "../postgres/cluster.fixture.ts";

test("WDS-34 WDS-36 workers get hints from RabbitMQ, and their shared state is in Redis", async (t) => {
  const cluster = await Cluster.openDistributed();
  t.after(() => cluster.close());
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const [api] = await cluster.start("api", "worker", "worker");
  assert.ok(api !== undefined);
  const rate = { requests_per_minute: 600, burst: 8 };
  await cluster.call(api, "PUT /v1/tenants/default", { rate_limit: rate });
  await cluster.addWebhook(api, { url: receiver.url("/"), events: ["order.*"] });
  await cluster.publish(api, "order.paid", [{ n: 1 }, { n: 2 }]);
  await receiver.waitForRequests(2);
  // Workers are notified of the limit shortly after it was set.
  await eventually("the limit is drawn from Redis", {
    ask: async () => {
      await cluster.publish(api, "order.paid", [{ n: 3 }]);
      return cluster.prefixes?.traces();
    },
    holds: (traces) => traces?.consumers === 2 && traces.keys.some((key) => key.startsWith("limit:")),
  });
});
