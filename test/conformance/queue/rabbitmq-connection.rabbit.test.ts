import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import { blocked, startAlteringProxy, unblocked } from "./altering-proxy.fixture.ts";
import { createTestVirtualHost, RabbitMqBroker, rabbitmqctl } from "./rabbitmq-broker.fixture.ts";
import { heldHandler, lane, hint, hints, sent, notifiedUntilHeard, until, Worker } from "./scene.fixture.ts";

const virtualHost = await createTestVirtualHost();
after(() => virtualHost.drop());

interface CheckOptions {
  /** Set if the check would affect the connections of other tests. */
  readonly needsOwnVirtualHost?: boolean;
}

function check(
  name: string,
  body: (broker: RabbitMqBroker) => Promise<void>,
  options: CheckOptions = {},
): void {
  test(name, async (t) => {
    if (options.needsOwnVirtualHost === true && !virtualHost.isOwn) {
      t.skip("no right to make a virtual host here");
      return;
    }
    const broker = await RabbitMqBroker.open(virtualHost);
    try {
      await body(broker);
    } finally {
      await broker.close(["default", "other"]);
    }
  });
}

/**
 * Closes the connection with that name, as an administrator would. The test's virtual host has only one such
 * connection.
 */
async function closeConnection(name: string): Promise<void> {
  const pid = await eventually(`the connection ${name}`, {
    ask: async () => {
      const lines = (await rabbitmqctl("list_connections", "pid", "vhost", "client_properties")).split("\n");
      const ours = lines.find((line) => line.includes(virtualHost.name) && line.includes(`"${name}"`));
      return ours?.split("\t")[0] ?? null;
    },
    holds: (found) => found !== null,
  });
  await rabbitmqctl("close_connection", String(pid), "maintenance");
}

suite("RabbitMQ connection", () => {
  check("WDS-210 a cut connection is reopened, and work continues", async (broker) => {
    const { queue, network } = await broker.join();
    const worker = new Worker(queue);
    queue.listenAs(1);
    for (let round = 1; round <= 3; round += 1) {
      await sent(queue, [hint(`before-${round}`)]);
      await until("it is handled", () => worker.doneIds.includes(`before-${round}`));
      await network.cut();
      await until("it is away", () => !queue.isConnected);
      await network.restore();
      await until("it is back", () => queue.isConnected);
      assert.equal(queue.status.lostConnections, round);
      await notifiedUntilHeard(queue, { to: worker, worker: 1, webhookId: `told-${round}` });
    }
    await until("the consumer is back too", () => worker.missed === 3);
  });

  check("WDS-212 three failed attempts log one error and set a metric", async (broker) => {
    const { queue, network } = await broker.join();
    await network.cut();
    await until("three attempts have failed", () => queue.status.failedAttempts >= 3);
    const [line, ...others] = broker.log.ofLevel("error");
    assert.match(String(line?.message), /three attempts/);
    assert.equal(line?.fields["failedAttempts"], 3);
    assert.deepEqual(others, []);
    assert.ok(!JSON.stringify(broker.log.lines).includes("guest:guest"));
    await network.restore();
    await until("it is back", () => queue.isConnected);
    assert.equal(queue.status.failedAttempts, 0);
    assert.equal(broker.log.ofLevel("info").length, 1);
  });

  check(
    "WDS-211 a network that drops all packets is detected, and unhandled hints go to others",
    async (broker) => {
      const url = new URL(virtualHost.url);
      const { network } = await broker.join();
      url.port = String(network.port);
      url.searchParams.set("heartbeat", "1");
      const held = heldHandler();
      const { queue } = await broker.join({ url: url.href });
      const stalled = new Worker(queue, { handle: held.handle });
      await sent(queue, [hint("stuck")]);
      await until("it is in hand", () => stalled.begun.length === 1);
      network.stall();
      const other = new Worker((await broker.join()).queue);
      await until("it is noticed", () => !queue.isConnected);
      await until("another one handles it", () => other.doneIds.includes("stuck"));
      held.release();
      await network.restore();
      await until("it is back", () => queue.isConnected);
    },
  );

  check(
    "an operator can close the connections",
    async (broker) => {
      const { queue } = await broker.join();
      const worker = new Worker(queue);
      await sent(queue, [hint("before")]);
      await until("it consumes", () => worker.doneIds.includes("before"));
      await rabbitmqctl("close_all_connections", "--vhost", virtualHost.name, "maintenance");
      await until("it was lost and is back", () => queue.isConnected && queue.status.lostConnections >= 1);
      await sent(queue, [hint("after")]);
      await until("it goes on", () => worker.doneIds.includes("after"));
      await broker.reopenOperator();
    },
    { needsOwnVirtualHost: true },
  );

  check(
    "the number of unconfirmed messages is bounded while the broker is silent, and sending continues afterwards",
    async (broker) => {
      const { queue, network } = await broker.join({ unconfirmedMax: 50 });
      await sent(queue, [hint("first")]);
      await until("it is confirmed", () => queue.status.underWay === 0);
      network.stall();
      let accepted = 0;
      for (let round = 0; round < 500; round += 1) {
        if (queue.send([hint(`lane-${round}`)])) accepted += 1;
        if (round % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(accepted, 50);
      assert.equal(queue.status.underWay, 50);
      assert.equal(queue.notify(1, [lane("a")]), false);
      await network.restore();
      await until("all is confirmed", () => queue.status.underWay === 0);
      assert.equal(queue.status.dropped, 0);
      const worker = new Worker((await broker.join()).queue);
      await until("all arrives", () => worker.done.length === 51);
      assert.equal(queue.send([hint("last")]), true);
    },
  );

  check("closing while the broker is silent ends in time", async (broker) => {
    const { queue, network } = await broker.join();
    const { promise, resolve } = Promise.withResolvers<"pass_on">();
    const worker = new Worker(queue, { handle: () => promise });
    await sent(queue, [hint("in-hand")]);
    await until("it is in hand", () => worker.begun.length === 1);
    network.stall();
    queue.send([hint("never-confirmed")]);
    resolve("pass_on");
    const startedAt = performance.now();
    await queue.close();
    assert.ok(performance.now() - startedAt < 80_000);
  });

  check("closing waits longer for a handler than for the broker", async (broker) => {
    const { queue } = await broker.join();
    const held = heldHandler();
    const worker = new Worker(queue, { handle: held.handle });
    await sent(queue, [hint("slow")]);
    await until("it is in hand", () => worker.begun.length === 1);
    const closed = queue.close().then(() => "closed");
    assert.equal(await Promise.race([closed, delay(3_000, "waiting")]), "waiting");
    held.release();
    assert.equal(await closed, "closed");
  });

  check(
    "neither of the two connections of a process outlives the other",
    async (broker) => {
      const { queue, network } = await broker.join();
      const worker = new Worker(queue);
      for (const [index, name] of ["posthorn receiving", "posthorn sending"].entries()) {
        await closeConnection(name);
        await until(
          "it was lost and is back",
          () => queue.isConnected && queue.status.lostConnections > index,
        );
        await until("there are two again", () => network.connectionsOpen === 2);
        await sent(queue, [hint(name)]);
        await until("it goes on", () => worker.doneIds.includes(name));
      }
    },
    { needsOwnVirtualHost: true },
  );

  check("a call with more than the limit is rejected as a whole", async (broker) => {
    const { queue } = await broker.join({ unconfirmedMax: 50 });
    assert.equal(queue.send(hints("lane", { count: 51 })), false);
    assert.equal(queue.send(hints("lane", { count: 50 })), true);
    await until("it is confirmed", () => queue.status.underWay === 0);
  });

  check("messages in flight when the connection is lost are counted as dropped", async (broker) => {
    const { queue, network } = await broker.join();
    await sent(queue, [hint("first")]);
    await until("it is confirmed", () => queue.status.underWay === 0);
    network.stall();
    queue.send(hints("sent", { count: 7 }));
    await new Promise((resolve) => setImmediate(resolve));
    await network.cut();
    await until("it is away", () => !queue.isConnected);
    assert.equal(queue.status.dropped, 7);
    assert.equal(queue.status.underWay, 0);
  });

  check("hints of one lane in one turn are one message, with the highest priority", async (broker) => {
    const { queue } = await broker.join();
    for (const priority of ["low", "high", "normal"] as const) {
      assert.equal(queue.send([hint("a", { priority }), hint("a", { priority })]), true);
    }
    await until("it is confirmed", () => queue.status.underWay === 0);
    const { waiting } = await queue.depth();
    assert.deepEqual(
      waiting.map((each) => each.hints),
      [1, 0, 0],
    );
  });

  check("a broker that blocks publishing is respected until it unblocks", async (broker) => {
    const proxy = await startAlteringProxy({ target: Number(new URL(virtualHost.url).port || "5672") });
    const url = new URL(virtualHost.url);
    url.port = String(proxy.port);
    const { queue } = await broker.join({ url: url.href });
    const worker = new Worker(queue);
    await sent(queue, [hint("before")]);
    await until("it consumes", () => worker.doneIds.includes("before"));
    proxy.inject(blocked);
    await until("it is blocked", () => queue.status.isBlocked);
    assert.equal(queue.isConnected, false);
    assert.equal(queue.send([hint("refused")]), false);
    assert.equal(queue.notify(1, [lane("a")]), false);
    // Hints from other processes still arrive, and the depth can still be queried.
    await sent((await broker.join()).queue, [hint("of-another")]);
    await until("it is handled", () => worker.doneIds.includes("of-another"));
    assert.equal((await queue.depth()).parked, 0);
    proxy.inject(unblocked);
    await until("it is not blocked", () => queue.isConnected);
    assert.equal(queue.send([hint("after")]), true);
    await until("it is handled", () => worker.doneIds.includes("after"));
    await queue.close();
    await proxy.close();
  });

  check("a channel that the broker closes is opened again, and the connection stays", async (broker) => {
    const { queue } = await broker.join();
    const worker = new Worker(queue);
    queue.listenAs(1);
    await notifiedUntilHeard(queue, { to: worker, worker: 1, webhookId: "before" });
    // Sending to a nonexistent exchange closes the channel.
    await broker.operator.deleteExchange(`${broker.prefix}.tell`);
    queue.notify(1, [lane("lost")]);
    await eventually("the channel was closed", {
      ask: () => Promise.resolve(broker.log.ofLevel("warn")),
      holds: (lines) => lines.some(({ fields }) => fields["channel"] === "publisher"),
    });
    await sent(queue, [hint("after")]);
    await until("it goes on", () => worker.doneIds.includes("after"));
    assert.equal(queue.status.lostConnections, 0);
  });
});
