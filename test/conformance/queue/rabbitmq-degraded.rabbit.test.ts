import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { systemClock } from "../../../src/system/clock.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import { blocked, startAlteringProxy, unblocked } from "./altering-proxy.fixture.ts";
import { createTestVirtualHost, RabbitMqBroker, rabbitmqctl } from "./rabbitmq-broker.fixture.ts";
import { lane, hint, sent, notifiedUntilHeard, until, Worker } from "./scene.fixture.ts";

const virtualHost = await createTestVirtualHost();
after(() => virtualHost.drop());

/** Timers run ten times as fast, because these steps run only every ten seconds. */
const fastClock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * 10,
  schedule: (delayMs, callback) => systemClock.schedule(delayMs / 10, callback),
};

async function withBroker(body: (broker: RabbitMqBroker) => Promise<void>): Promise<void> {
  const broker = await RabbitMqBroker.open(virtualHost);
  try {
    await body(broker);
  } finally {
    await broker.close(["default", "other"]);
  }
}

suite("partial failures of RabbitMQ", () => {
  test("while the queues of one pool are unusable, those of others are counted", () =>
    withBroker(async (broker) => {
      await broker.operator.assertQueue(broker.workQueue("default", "normal"), { durable: true });
      let laterMs = 0;
      const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs };
      const { queue } = await broker.join({ clock });
      await sent(queue, [hint("a", { pool: "other" })]);
      await until("the pool is refused", () => !queue.send([hint("b")]));
      // The refusal expires after half a minute. The queues have not been changed in that time.
      laterMs = 60_000;
      const { waiting } = await queue.depth();
      assert.deepEqual([...new Set(waiting.map(({ pool }) => pool))], ["other"]);
      await broker.operator.deleteQueue(broker.workQueue("default", "normal"));
      laterMs = 120_000;
      assert.equal((await queue.depth()).waiting.length, 6);
    }));

  test("a queue that confirms nothing counts as unavailable, and recovers", async (t) => {
    if (!virtualHost.isOwn) {
      t.skip("no right to stop a queue here");
      return;
    }
    await withBroker(async (broker) => {
      const { queue } = await broker.join({ clock: fastClock });
      await sent(queue, [hint("before")]);
      await until("it is confirmed", () => queue.status.underWay === 0);
      const server = `'${virtualHost.name}_${broker.workQueue("default")}'`;
      await rabbitmqctl("eval", `sys:suspend(${server}).`);
      try {
        await sent(queue, [hint("unanswered")]);
        await until("it is noticed", () => !queue.isConnected);
        assert.equal(queue.send([hint("refused")]), false);
        assert.equal(queue.status.underWay, 0);
        assert.equal(queue.status.dropped, 1);
        assert.equal(queue.status.lostConnections, 0);
      } finally {
        await rabbitmqctl("eval", `sys:resume(${server}).`);
      }
      const worker = new Worker((await broker.join()).queue);
      await sent(queue, [hint("after")]);
      await until("it goes on", () => worker.doneIds.includes("after"));
    });
  });

  test("a broker that blocks publishing is waited for, however long it confirms nothing", async (t) => {
    if (!virtualHost.isOwn) {
      t.skip("no right to stop a queue here");
      return;
    }
    await withBroker(async (broker) => {
      const proxy = await startAlteringProxy({ target: Number(new URL(virtualHost.url).port || "5672") });
      t.after(() => proxy.close());
      const url = new URL(virtualHost.url);
      url.port = String(proxy.port);
      const { queue } = await broker.join({ url: url.href, clock: fastClock });
      await sent(queue, [hint("before")]);
      await until("it is confirmed", () => queue.status.underWay === 0);
      const server = `'${virtualHost.name}_${broker.workQueue("default")}'`;
      await rabbitmqctl("eval", `sys:suspend(${server}).`);
      try {
        await sent(queue, [hint("unanswered")]);
        proxy.inject(blocked);
        await until("it is blocked", () => queue.status.isBlocked);
        await new Promise<void>((resolve) => void fastClock.schedule(25_000, resolve));
        assert.equal(queue.status.underWay, 1);
      } finally {
        await rabbitmqctl("eval", `sys:resume(${server}).`);
      }
      await until("it is confirmed", () => queue.status.underWay === 0);
      proxy.inject(unblocked);
      await until("it goes on", () => queue.isConnected);
      assert.equal(queue.status.dropped, 0);
      assert.deepEqual(broker.log.ofLevel("warn"), []);
    });
  });

  test("a worker whose exchange was deleted receives notifications again", () =>
    withBroker(async (broker) => {
      const { queue } = await broker.join({ clock: fastClock });
      const worker = new Worker(queue);
      queue.listenAs(7);
      await notifiedUntilHeard(queue, { to: worker, worker: 7, webhookId: "before" });
      await broker.operator.deleteExchange(`${broker.prefix}.tell`);
      await notifiedUntilHeard(queue, { to: worker, worker: 7, webhookId: "after" });
      assert.equal(queue.status.lostConnections, 0);
      // A sender that recreates the exchange does not recreate the bindings of its queues.
      await broker.operator.deleteExchange(`${broker.prefix}.tell`);
      await broker.operator.assertExchange(`${broker.prefix}.tell`, "direct", { durable: true });
      await eventually("it is told", {
        ask: async () => {
          queue.notify(7, [lane("last")]);
          return worker.notifiedIds.includes("last");
        },
        holds: Boolean,
      });
    }));
});
