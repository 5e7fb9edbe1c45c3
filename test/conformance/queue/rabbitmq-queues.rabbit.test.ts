import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import type { GetMessage } from "amqplib";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import { createTestVirtualHost, RabbitMqBroker } from "./rabbitmq-broker.fixture.ts";
import { heldHandler, lane, hint, hints, sent, notifiedUntilHeard, until, Worker } from "./scene.fixture.ts";

const virtualHost = await createTestVirtualHost();
after(() => virtualHost.drop());

function check(name: string, body: (broker: RabbitMqBroker) => Promise<void>): void {
  test(name, async () => {
    const broker = await RabbitMqBroker.open(virtualHost);
    try {
      await body(broker);
    } finally {
      await broker.close(["default", "other"]);
    }
  });
}

/** Takes one message from a queue. */
async function takeFrom(broker: RabbitMqBroker, queue: string): Promise<GetMessage> {
  const message = await eventually(`a message in ${queue}`, {
    ask: () => broker.operator.get(queue, { noAck: true }),
    holds: (got) => got !== false,
  });
  assert.ok(message !== false);
  return message;
}

const byText = (a: string, b: string): number => a.localeCompare(b);

suite("RabbitMQ queues", () => {
  check("a message is small, persistent and traceable", async (broker) => {
    const { queue } = await broker.join();
    await sent(queue, [hint("00000000-0000-7000-8000-000000000000"), hint("b")]);
    await until("they are confirmed", () => queue.status.underWay === 0);
    const [first, second] = [
      await takeFrom(broker, broker.workQueue("default")),
      await takeFrom(broker, broker.workQueue("default")),
    ];
    assert.ok(first.content.length < 100, first.content.toString());
    assert.equal(first.properties.deliveryMode, 2);
    assert.equal(first.properties.contentType, "application/json");
    assert.match(String(first.properties.messageId), /^[0-9a-f]{12}-\d+$/);
    assert.notEqual(first.properties.messageId, second.properties.messageId);
  });

  check("deleted queues are created again by the consumer, the sender, or a count", async (broker) => {
    const { queue: sender } = await broker.join();
    await sent(sender, [hint("first"), hint("second", { pool: "other" })]);
    await until("they are confirmed", () => sender.status.underWay === 0);
    await broker.deleteQueues(["default", "other"]);
    // The queue has no consumer. The sender detects the loss because its messages are returned.
    await sent(sender, [hint("third")]);
    const counted = await eventually("it waits", {
      ask: () => sender.depth(),
      holds: ({ waiting }) => waiting.some((each) => each.hints === 1),
    });
    assert.equal(counted.waiting.length, 6);
    const worker = new Worker((await broker.join()).queue);
    await until("it is handled", () => worker.doneIds.includes("third"));
    for (let round = 1; round <= 3; round += 1) {
      await broker.deleteQueues(["default", "other"]);
      await until("the consumer heard of it", () => worker.missed >= round);
      await sent(sender, [hint(`round-${round}`)]);
      await until("it goes on", () => worker.doneIds.includes(`round-${round}`));
    }
    assert.equal(sender.status.lostConnections, 0);
  });

  check("a consumer finishes its current hints when its queue is deleted", async (broker) => {
    const { queue } = await broker.join();
    const held = heldHandler();
    const worker = new Worker(queue, { handle: held.handle });
    await sent(queue, hints("lane", { count: 10 }));
    await until("all are in hand", () => worker.begun.length === 10);
    await broker.deleteQueues(["default"]);
    await until("the consumer heard of it", () => worker.missed === 1);
    held.release();
    await sent(queue, [hint("after")]);
    await until("it goes on", () => worker.doneIds.includes("after") && worker.done.length === 11);
  });

  check("an unreadable message is parked with the reason, and logged", async (broker) => {
    const { queue } = await broker.join();
    const worker = new Worker(queue);
    await sent(queue, [hint("before")]);
    await until("it consumes", () => worker.doneIds.includes("before"));
    const bodies = ["garbage", '{"v":9,"lanes":[["w","none"]]}', "x".repeat(300_000)];
    for (const body of bodies) {
      broker.operator.sendToQueue(broker.workQueue("default", "low"), Buffer.from(body), {
        messageId: "trace-me",
      });
    }
    await until("all are parked", () => queue.status.parked === 3);
    const parked = [];
    for (const _ of bodies) parked.push(await takeFrom(broker, broker.parkedQueue));
    parked.sort((a, b) => bodies.indexOf(a.content.toString()) - bodies.indexOf(b.content.toString()));
    assert.deepEqual(
      parked.map(({ properties }) => String(properties.headers?.["x-posthorn-reason"])).toSorted(byText),
      ["not JSON", "not JSON", "version 9, this program reads 1"],
    );
    for (const { content, properties } of parked) {
      assert.equal(properties.headers?.["x-posthorn-queue"], broker.workQueue("default", "low"));
      assert.equal(properties.correlationId, "trace-me");
      assert.ok(content.length <= 65_536);
    }
    assert.equal(broker.log.ofLevel("warn").filter(({ message }) => message.includes("parked")).length, 3);
  });

  check(
    "WDS-34 the broker parks a hint that was handed out too often, and this is reported",
    async (broker) => {
      const { queue: sender } = await broker.join();
      await sent(sender, [hint("deadly")]);
      let losses = 0;
      for (; losses < 30 && (await sender.depth()).parked === 0; losses += 1) {
        const held = heldHandler();
        const { queue, network } = await broker.join();
        const victim = new Worker(queue, { handle: held.handle });
        await eventually("it is in hand, or parked", {
          ask: async () => victim.begun.length > 0 || (await sender.depth()).parked > 0,
          holds: (answer) => answer,
        });
        await network.cut();
        held.release();
        await until("it is away", () => !queue.isConnected);
      }
      const { properties, content } = await takeFrom(broker, broker.parkedQueue);
      const [death] = properties.headers?.["x-death"] ?? [];
      assert.equal(death?.reason, "delivery_limit");
      assert.equal(death.queue, broker.workQueue("default"));
      assert.match(content.toString(), /deadly/);
    },
  );

  check("WDS-195 a handler that throws despite its contract loses only its hint", async (broker) => {
    const { queue } = await broker.join();
    const worker = new Worker(queue, {
      handle: ({ lane: { webhookId } }) =>
        webhookId === "bad" ? Promise.reject(new Error("bug")) : Promise.resolve("done" as const),
    });
    await sent(queue, [hint("bad"), hint("good")]);
    await until("the good one is handled", () => worker.doneIds.includes("good"));
    await eventually("the bad one is parked in the end", {
      ask: () => queue.depth(),
      holds: ({ parked }) => parked === 1,
    });
    assert.ok(worker.begunIds.filter((id) => id === "bad").length > 1, "it did not go back");
    assert.ok(broker.log.ofLevel("error").length > 0);
  });

  check(
    "a pool whose queues have other properties is rejected by name, and others are served",
    async (broker) => {
      const { operator } = broker;
      await operator.assertQueue(broker.workQueue("default", "normal"), { durable: true });
      const { queue } = await broker.join();
      let accepted = 0;
      await until("it is refused", () => {
        if (!queue.send([hint(`lane-${accepted}`)])) return true;
        accepted += 1;
        return false;
      });
      assert.ok(accepted > 0);
      const [line] = broker.log.ofLevel("error");
      const reason = String(line?.fields["reason"]);
      assert.ok(reason.includes(broker.workQueue("default", "normal")), reason);
      assert.match(reason, /delete it.*POSTHORN_QUEUE_PREFIX.*POSTHORN_QUEUE_URL/);
      assert.equal(queue.status.dropped, accepted);
      const worker = new Worker((await broker.join()).queue, { pool: "other" });
      await sent(queue, [hint("c", { pool: "other" })]);
      await until("another pool is served", () => worker.doneIds.includes("c"));
      assert.equal((await queue.depth()).waiting.length, 3);
      assert.equal(queue.status.lostConnections, 0);
    },
  );

  check(
    "a consumer whose queues have other properties reports that, and starts when they are deleted",
    async (broker) => {
      const name = broker.workQueue("default", "normal");
      await broker.operator.assertQueue(name, { durable: true });
      const { queue } = await broker.join();
      const worker = new Worker(queue);
      await until("it is not served", () => !queue.isConnected);
      assert.ok(broker.log.ofLevel("error").some(({ fields }) => String(fields["reason"]).includes(name)));
      await broker.operator.deleteQueue(name);
      await until("it is served", () => queue.isConnected);
      await sent((await broker.join()).queue, [hint("after")]);
      await until("it is handled", () => worker.doneIds.includes("after"));
    },
  );

  check("the queue of a worker is deleted with its connection, and with its number", async (broker) => {
    const { queue } = await broker.join();
    const { queue: sender } = await broker.join();
    const worker = new Worker(queue);
    queue.listenAs(5);
    await notifiedUntilHeard(sender, { to: worker, worker: 5, webhookId: "heard" });
    const before = sender.status.unheard;
    queue.listenAs(null);
    await until("what is told now comes back", () => {
      sender.notify(5, [lane("lost")]);
      return sender.status.unheard > before;
    });
  });

  check("closing with many unfinished hints passes all of them on", async (broker) => {
    const { queue: sender } = await broker.join();
    const { queue } = await broker.join();
    const first = new Worker(queue, { handle: () => Promise.resolve("pass_on") });
    await sent(sender, hints("lane", { count: 100 }));
    await until("it has begun", () => first.begun.length >= 16);
    const startedAt = performance.now();
    await queue.close();
    assert.ok(performance.now() - startedAt < 20_000);
    const second = new Worker((await broker.join()).queue);
    await until("all are handled", () => new Set(second.doneIds).size === 100);
  });
});
