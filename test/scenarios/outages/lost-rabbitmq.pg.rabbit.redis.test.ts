import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "amqplib";
import { isCut, stopsFor, vanishesFor } from "./companion-outages.fixture.ts";
import { Rig } from "./rig.fixture.ts";

const awayMs = 30_000;
/** Without hints, PostgreSQL notifies workers of work, or they find it by polling. */
const slowerMsMax = 10_000;
/**
 * Until missed heartbeats are detected, other processes send a worker's hints to a broker that cannot reach the worker.
 */
const silentMsMax = 20_000;
/** The pauses between connection attempts grow with the duration of the outage. */
const connectedMsMax = 90_000;

test("RabbitMQ outages under load", async (t) => {
  const rig = await Rig.open(t, { distributed: true });
  const { deployment } = rig;
  const { server: rabbitmq } = deployment.rabbitmq;
  const companion = { ...deployment.rabbitmq, rig, complaint: "queue_unavailable", connectedMsMax };

  await t.test("a restart", async (t) => {
    await rig.during(t, {
      happens: async () => {
        await rabbitmq.restart();
        await deployment.untilSound(connectedMsMax);
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("deleted queues", async (t) => {
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
      happens: () => isCut(companion),
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("packets between one worker and RabbitMQ are dropped, then delayed", async (t) => {
    await rig.during(t, {
      happens: () => vanishesFor(10_000, companion),
      standstillMsMax: silentMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("its node is down for 30 s: the API reports it and still accepts events", async (t) => {
    await rig.during(t, {
      happens: () => stopsFor(awayMs, companion),
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
    assert.equal(rig.publisher.retries, 0, "the API refused events");
  });
});

/** Deletes all queues except those that belong to a single connection. Returns their number. */
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
