import assert from "node:assert/strict";
import { lane, notifiedUntilHeard, until, Worker } from "./scene.fixture.ts";
import type { QueueTheme } from "./queue.suite.ts";

export const notifying: QueueTheme = (check) => {
  check("a notification reaches only the worker with that number", async (broker) => {
    const sender = await broker.join();
    const [one, two] = [new Worker(await broker.join()), new Worker(await broker.join())];
    one.queue.listenAs(1);
    two.queue.listenAs(2);
    await notifiedUntilHeard(sender, { to: one, worker: 1, webhookId: "for-one" });
    await notifiedUntilHeard(sender, { to: two, worker: 2, webhookId: "for-two" });
    assert.ok(one.notifiedIds.every((id) => id === "for-one"));
    assert.ok(two.notifiedIds.every((id) => id === "for-two"));
  });

  check("all lanes of a message arrive, complete", async (broker) => {
    const sender = await broker.join();
    const worker = new Worker(await broker.join());
    worker.queue.listenAs(7);
    await notifiedUntilHeard(sender, { to: worker, worker: 7, webhookId: "ready" });
    const lanes = [
      ...Array.from({ length: 500 }, (_, index) => lane(`lane-${index}`)),
      { webhookId: "typed", ordering: "per_event_type" as const, eventType: "user.créé" },
    ];
    sender.notify(7, lanes);
    await until("the last one is told", () => worker.notifiedIds.includes("typed"));
    assert.deepEqual(
      worker.notified.filter(({ webhookId }) => webhookId !== "ready"),
      lanes,
    );
  });

  check("a number can move, within a process and to another one", async (broker) => {
    const sender = await broker.join();
    const [one, two] = [new Worker(await broker.join()), new Worker(await broker.join())];
    one.queue.listenAs(1);
    await notifiedUntilHeard(sender, { to: one, worker: 1, webhookId: "first" });
    one.queue.listenAs(8);
    await notifiedUntilHeard(sender, { to: one, worker: 8, webhookId: "second" });
    two.queue.listenAs(1);
    await notifiedUntilHeard(sender, { to: two, worker: 1, webhookId: "third" });
    two.queue.listenAs(null);
    one.queue.listenAs(1);
    await notifiedUntilHeard(sender, { to: one, worker: 1, webhookId: "fourth" });
    assert.ok(!one.notifiedIds.includes("third"));
    assert.ok(!two.notifiedIds.includes("first") && !two.notifiedIds.includes("second"));
  });

  check("notifying an absent worker is accepted, causes no harm, and is dropped", async (broker) => {
    const sender = await broker.join();
    const worker = new Worker(await broker.join());
    for (let round = 0; round < 50; round += 1) assert.equal(sender.notify(99, [lane("lost")]), true);
    worker.queue.listenAs(1);
    await notifiedUntilHeard(sender, { to: worker, worker: 1, webhookId: "heard" });
    assert.ok(!worker.notifiedIds.includes("lost"));
  });

  check("a worker that returns receives notifications for its number again", async (broker) => {
    const sender = await broker.join();
    const worker = new Worker(await broker.join());
    worker.queue.listenAs(3);
    await notifiedUntilHeard(sender, { to: worker, worker: 3, webhookId: "before" });
    broker.cut(worker.queue);
    await until("it is away", () => !worker.queue.isConnected);
    broker.mend(worker.queue);
    await until("it is back", () => worker.queue.isConnected);
    await notifiedUntilHeard(sender, { to: worker, worker: 3, webhookId: "after" });
  });
};
