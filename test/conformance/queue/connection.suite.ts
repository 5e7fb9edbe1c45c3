import assert from "node:assert/strict";
import { WorkQueueUnavailableError } from "../../../src/ports/work-queue.ts";
import { lane, hint, hints, sent, sentUntilHandled, until, Worker } from "./scene.fixture.ts";
import type { QueueTheme } from "./queue.suite.ts";

export const connection: QueueTheme = (check) => {
  check(
    "sending and notifying return at once, even for far more than the queue can carry",
    async (broker) => {
      const sender = await broker.join();
      const answers = new Set<unknown>();
      for (let round = 0; round < 200; round += 1) {
        answers.add(sender.send(hints(`round-${round}`, { count: 100 })));
        answers.add(sender.notify(1, [lane("a")]));
      }
      assert.ok([...answers].every((answer) => typeof answer === "boolean"));
    },
  );

  check("while the connection is lost, sending returns false and depth rejects", async (broker) => {
    const sender = await broker.join();
    broker.cut(sender);
    await until("it is away", () => !sender.isConnected);
    assert.equal(sender.send([hint("refused")]), false);
    assert.equal(sender.notify(1, [lane("refused")]), false);
    await assert.rejects(sender.depth(), WorkQueueUnavailableError);
    broker.mend(sender);
    await until("it is back", () => sender.isConnected);
    const worker = new Worker(await broker.join());
    await sent(sender, [hint("accepted")]);
    await until("what was accepted is handled", () => worker.doneIds.includes("accepted"));
    assert.ok(!worker.doneIds.includes("refused"));
  });

  check("a consumer continues after an outage and learns that it may have missed hints", async (broker) => {
    const sender = await broker.join();
    const worker = new Worker(await broker.join());
    await sent(sender, [hint("before")]);
    await until("it consumes", () => worker.doneIds.includes("before"));
    assert.equal(worker.missed, 0);
    broker.cut(worker.queue);
    await until("it is away", () => !worker.queue.isConnected);
    await sent(sender, [hint("meanwhile")]);
    broker.mend(worker.queue);
    await until("it handles what came meanwhile", () => worker.doneIds.includes("meanwhile"));
    await until("it heard of the gap", () => worker.missed >= 1);
    await sent(sender, [hint("after")]);
    await until("it goes on", () => worker.doneIds.includes("after"));
  });

  check("a consumer requested while the connection is lost starts when it is back", async (broker) => {
    const sender = await broker.join();
    const queue = await broker.join();
    broker.cut(queue);
    await until("it is away", () => !queue.isConnected);
    const worker = new Worker(queue);
    queue.listenAs(4);
    await sent(sender, [hint("waiting")]);
    broker.mend(queue);
    await until("it is handled", () => worker.doneIds.includes("waiting"));
  });

  check(
    "lost queues return: consumers are notified and continue, and hints from senders arrive",
    async (broker) => {
      const sender = await broker.join();
      const worker = new Worker(await broker.join());
      await sent(sender, [hint("before")]);
      await until("it consumes", () => worker.doneIds.includes("before"));
      await broker.lose();
      await until("it heard of the loss", () => worker.missed >= 1);
      await sentUntilHandled(sender, { list: [hint("after"), hint("urgent", { priority: "high" })], worker });
    },
  );
};
