import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../eventually.fixture.ts";
import { Cluster } from "./cluster.fixture.ts";

const count = 1_200;

test("two schedulers do each piece of upkeep once", async (t) => {
  const cluster = await Cluster.open();
  t.after(() => cluster.close());
  const [api] = await cluster.start("api");
  assert.ok(api !== undefined);
  const id = await cluster.addWebhook(api, { url: "http://127.0.0.1:9/", events: ["order.*"] });
  await cluster.publish(
    api,
    "order.paid",
    Array.from({ length: count }, (_, n) => ({ n })),
  );
  const waiting = () => cluster.count("SELECT count(*) FROM posthorn.queue");
  assert.equal(await waiting(), count);
  assert.equal((await cluster.call(api, `DELETE /v1/webhooks/${id}`)).status, 204);
  const schedulers = await cluster.start("scheduler", "scheduler");
  await eventually("the deliveries of the deleted webhook are cancelled", {
    ask: waiting,
    holds: (left) => left === 0,
  });
  const counters = "SELECT coalesce(sum(value), 0) FROM posthorn.counters WHERE kind < 3";
  assert.equal(await cluster.count(counters), 0, "each was counted down once");
  assert.equal(await cluster.count("SELECT count(*) FROM posthorn.leadership WHERE name = 'upkeep'"), 1);
  const worked = () => schedulers.filter(({ output }) => /"what":"cancel"/.test(output)).length;
  await eventually("one says that it did the work", {
    ask: async () => worked(),
    holds: (some) => some > 0,
  });
  for (const scheduler of schedulers) assert.equal(await scheduler.end("SIGTERM"), 0, scheduler.output);
  assert.equal(worked(), 1, "both did the work");
});
