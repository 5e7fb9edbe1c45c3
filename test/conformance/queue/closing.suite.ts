import assert from "node:assert/strict";
import {
  heldHandler,
  idsOf,
  lane,
  hint,
  hints,
  sent,
  notifiedUntilHeard,
  until,
  Worker,
} from "./scene.fixture.ts";
import type { QueueTheme } from "./queue.suite.ts";

export const closing: QueueTheme = (check) => {
  check("closing waits for hints being handled, and finished ones stay finished", async (broker) => {
    const sender = await broker.join();
    const held = heldHandler();
    const worker = new Worker(await broker.join(), { handle: held.handle });
    await sent(sender, [hint("slow")]);
    await until("it is in hand", () => worker.begun.length === 1);
    let isClosed = false;
    const closed = worker.queue.close().then(() => (isClosed = true));
    const other = new Worker(await broker.join());
    await sent(sender, [hint("next")]);
    await until("the other one goes on", () => other.doneIds.includes("next"));
    assert.equal(isClosed, false);
    held.release();
    await closed;
    await sent(sender, [hint("last")]);
    await until("the other one goes on", () => other.doneIds.includes("last"));
    assert.ok(!other.begunIds.includes("slow"));
  });

  check(
    "WDS-196 nothing is handed over after closing began, and waiting hints go to other consumers",
    async (broker) => {
      const sender = await broker.join();
      const held = heldHandler();
      const worker = new Worker(await broker.join(), { handle: held.handle });
      await sent(sender, hints("lane", { count: 300 }));
      await until("its hands are full", () => worker.begun.length >= 8);
      const closed = worker.queue.close();
      const begun = worker.begun.length;
      const other = new Worker(await broker.join());
      held.release();
      await closed;
      await until(
        "the other one handles the rest",
        () => new Set([...worker.doneIds, ...other.doneIds]).size === 300,
      );
      assert.equal(worker.begun.length, begun);
    },
  );

  check("a hint that is passed on during closing reaches another consumer", async (broker) => {
    const sender = await broker.join();
    const { promise, resolve } = Promise.withResolvers<"pass_on">();
    const worker = new Worker(await broker.join(), { handle: () => promise });
    await sent(sender, [hint("handed-back")]);
    await until("it is in hand", () => worker.begun.length === 1);
    const closed = worker.queue.close();
    resolve("pass_on");
    await closed;
    const other = new Worker(await broker.join());
    await until("the other one handles it", () => other.doneIds.includes("handed-back"));
  });

  check("after a consumer ends, others are served, and sending and notifying continue", async (broker) => {
    const queue = await broker.join();
    const held = heldHandler();
    const first = new Worker(queue, { handle: held.handle });
    await sent(queue, [hint("in-hand")]);
    await until("it is in hand", () => first.begun.length === 1);
    let isStopped = false;
    const stopped = queue.stopConsuming().then(() => (isStopped = true));
    const second = new Worker(await broker.join());
    second.queue.listenAs(2);
    await sent(queue, hints("lane", { count: 50 }));
    await until("the other one is served", () => second.done.length === 50);
    await notifiedUntilHeard(queue, { to: second, worker: 2, webhookId: "told" });
    assert.equal(isStopped, false);
    held.release();
    await Promise.all([stopped, queue.stopConsuming()]);
    assert.deepEqual(first.doneIds, ["in-hand"]);
    assert.equal(queue.isConnected, true);
  });

  check("a consumer that ends while it starts leaves every hint to others", async (broker) => {
    const sender = await broker.join();
    const queue = await broker.join();
    await sent(sender, [hint("in-hand")]);
    await until("it waits", () => sender.isConnected);
    const held = heldHandler();
    const begun: string[] = [];
    const stops: Promise<void>[] = [];
    queue.consume({
      pool: "default",
      // A waiting hint arrives before the consumers of all priorities are registered.
      handle: (given) => {
        begun.push(given.lane.webhookId);
        queueMicrotask(() => stops.push(queue.stopConsuming()));
        return held.handle(given);
      },
      notified: () => undefined,
      missed: () => undefined,
    });
    await until("it is in hand", () => begun.length > 0);
    const lanes = hints("lane", { count: 50 });
    await sent(sender, lanes);
    const other = new Worker(await broker.join());
    await until("the other one is given all", () => idsOf(lanes).every((id) => other.doneIds.includes(id)));
    held.release();
    await Promise.all(stops);
    assert.deepEqual(begun, ["in-hand"]);
  });

  check("closing twice closes once, and a closed queue rejects calls", async (broker) => {
    const queue = await broker.join();
    await Promise.all([queue.close(), queue.close()]);
    await queue.close();
    assert.equal(queue.isConnected, false);
    assert.equal(queue.send([hint("late")]), false);
    assert.equal(queue.notify(1, [lane("late")]), false);
    await assert.rejects(queue.depth());
  });

  check("an unavailable queue can be closed", async (broker) => {
    const queue = await broker.join();
    broker.cut(queue);
    await until("it is away", () => !queue.isConnected);
    await queue.close();
    assert.equal(queue.isConnected, false);
  });

  check("hints accepted just before closing are delivered", async (broker) => {
    const sender = await broker.join();
    const worker = new Worker(await broker.join());
    await sent(sender, [hint("first")]);
    await until("it consumes", () => worker.doneIds.includes("first"));
    assert.equal(sender.send(hints("last", { count: 50 })), true);
    await sender.close();
    await until("all arrive", () => worker.done.length === 51);
  });
};
