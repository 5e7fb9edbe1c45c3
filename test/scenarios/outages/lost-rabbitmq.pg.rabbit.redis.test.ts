import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "amqplib";
import { Rig } from "./rig.ts";

const awayMs = 30_000;
/** While nobody carries notices, workers hear of work from PostgreSQL, and look for it themselves. */
const slowerMsMax = 10_000;
/** Until heartbeats are missed, others tell a worker through a broker that it does not hear. */
const silentMsMax = 20_000;
/** Pauses between two tries to connect grow with the time that the node was away. */
const connectedMsMax = 90_000;

test("RabbitMQ goes away under load", async (t) => {
  const rig = await Rig.open(t, { distributed: true });
  const { deployment } = rig;
  const { server: rabbitmq, way } = deployment.rabbitmq;
  const [api] = deployment.apis;
  assert.ok(api !== undefined);

  await t.test("it is restarted", async (t) => {
    await rig.during(t, {
      happens: async () => {
        await rabbitmq.restart();
        await deployment.untilSound(connectedMsMax);
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("its queues are deleted", async (t) => {
    await rig.during(t, {
      happens: async () => {
        const queues = await deleteQueues(rabbitmq.url);
        assert.ok(queues >= 4, `there were ${queues} queues`);
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
    await deployment.untilSound(connectedMsMax);
  });

  await t.test("the network between one worker and RabbitMQ is cut", async (t) => {
    await rig.during(t, {
      happens: async () => {
        await way.cut();
        await sleep(5_000);
        await way.restore();
        await deployment.untilSound(connectedMsMax);
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("packets between one worker and RabbitMQ vanish, then are late", async (t) => {
    await rig.during(t, {
      happens: async () => {
        way.stall();
        await sleep(10_000);
        await way.restore();
        way.delay(50);
        await sleep(3_000);
        await way.restore();
        await deployment.untilSound(connectedMsMax);
      },
      standstillMsMax: silentMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("its node is away for 30 s: the API says so and accepts all the same", async (t) => {
    await rig.during(t, {
      happens: async () => {
        await rabbitmq.stop();
        await sleep(awayMs);
        const complaints = await api.complaints();
        const ready = await fetch(`${api.url}/readyz`);
        await rabbitmq.start();
        assert.deepEqual(complaints, ["api 1: queue_unavailable"]);
        assert.equal(ready.status, 200);
        await deployment.untilSound(connectedMsMax);
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
    assert.equal(rig.publisher.retries, 0, "the API refused events");
  });
});

/** All but those that belong to one connection. Returns how many there were. */
async function deleteQueues(url: string): Promise<number> {
  const connection = await connect(url);
  const channel = await connection.createChannel();
  const names = ["parked", ...["high", "normal", "low"].map((priority) => `work.default.${priority}`)];
  let deleted = 0;
  for (const name of names) {
    await channel.checkQueue(`posthorn.${name}`);
    await channel.deleteQueue(`posthorn.${name}`);
    deleted += 1;
  }
  await connection.close();
  return deleted;
}
