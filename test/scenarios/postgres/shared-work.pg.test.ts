import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.ts";
import { Cluster } from "./cluster.ts";

const webhookCount = 20;
const rounds = 30;

suite("four workers and one API process share the work", () => {
  test("WDS-219 every event is delivered once, and nothing stands twice in the history", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const [api] = await cluster.start("api", "worker", "worker", "worker", "worker");
    assert.ok(api !== undefined);
    for (let index = 0; index < webhookCount; index += 1)
      await cluster.addWebhook(api, { url: receiver.url(`/${index}`), events: [`load.n${index}`] });
    const published: string[] = [];
    for (let index = 0; index < webhookCount; index += 1) {
      const data = Array.from({ length: rounds }, (_, n) => ({ n }));
      published.push(...(await cluster.publish(api, `load.n${index}`, data)));
    }
    await receiver.waitForRequests(published.length, 20_000);
    await eventually("everything is settled", {
      ask: () => cluster.count("SELECT count(*) FROM posthorn.queue"),
      holds: (waiting) => waiting === 0,
    });
    const ids = receiver.requests.map(({ headers }) => String(headers["webhook-id"]));
    assert.deepEqual([...new Set(ids)].toSorted(), published.toSorted());
    assert.equal(ids.length, published.length, "an event was sent twice");
    assert.equal(await cluster.count("SELECT count(*) FROM posthorn.attempts"), published.length);
    const owners = "SELECT count(DISTINCT worker) FROM posthorn.ownership";
    assert.ok((await cluster.count(owners)) >= 2, "one worker did everything");
    t.diagnostic(`${await cluster.count(owners)} workers own something`);
  });

  test("WDS-199 a strict webhook keeps its order with one request at a time, also when its owner ends", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    receiver.script(() => ({ delayMs: 10 }));
    const [api] = await cluster.start("api", "worker", "worker", "worker", "worker");
    assert.ok(api !== undefined);
    const id = await cluster.addWebhook(api, {
      url: receiver.url("/"),
      events: ["order.*"],
      ordering_guarantee: "strict",
    });
    const first = await cluster.publish(
      api,
      "order.paid",
      Array.from({ length: 100 }, (_, n) => ({ n })),
    );
    await receiver.waitForRequests(30, 20_000);
    const owner = await cluster.ownerOf(id);
    const [second, status] = await Promise.all([
      cluster.publish(
        api,
        "order.paid",
        Array.from({ length: 50 }, (_, n) => ({ n })),
      ),
      owner.end("SIGTERM"),
    ]);
    assert.equal(status, 0, owner.output);
    await receiver.waitForRequests(150, 20_000);
    const ids = receiver.requests.map(({ headers }) => String(headers["webhook-id"]));
    assert.deepEqual(ids, [...first, ...second]);
    assert.equal(receiver.concurrencyPeak, 1);
  });
});
