import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelModel } from "amqplib";
import { systemClock } from "../../system/clock.ts";
import { readDepth } from "./queue.ts";
import { Topology } from "./topology.ts";

const silent = (): void => undefined;

/** A connection whose broker replies when the test allows it. Counts its channels. */
function slowConnection() {
  const answered = Promise.withResolvers<{ readonly messageCount: number }>();
  let channels = 0;
  const declared: string[] = [];
  const channel = {
    on: silent,
    assertQueue: (queue: string) => {
      declared.push(queue);
      return answered.promise;
    },
    checkQueue: () => Promise.resolve({ messageCount: 1 }),
    close: () => Promise.resolve(),
  };
  const connection = {
    createChannel: () => {
      channels += 1;
      return Promise.resolve(channel);
    },
  };
  return {
    connection: connection as unknown as ChannelModel,
    answer: () => answered.resolve({ messageCount: 0 }),
    channels: () => channels,
    declared,
  };
}

function newTopology(): Topology {
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  return new Topology({ prefix: "test", clock: systemClock, log });
}

test("concurrent declarations of a pool are merged, because brokers handle two at once badly", async () => {
  const topology = newTopology();
  const slow = slowConnection();
  topology.attach(slow.connection);
  const sending = topology.ensure("default");
  topology.forget("default");
  const taking = topology.ensure("default");
  slow.answer();
  await Promise.all([sending, taking]);
  assert.equal(slow.channels(), 1);
  assert.equal(topology.isDeclared("default"), true);
  topology.forget("default");
  await topology.ensure("default");
  assert.equal(slow.channels(), 2, "what was declared before may be gone");
});

test("another connection declares again, whatever the previous one waits for", async () => {
  const topology = newTopology();
  const [lost, found] = [slowConnection(), slowConnection()];
  topology.attach(lost.connection);
  void topology.ensure("default");
  topology.detach();
  topology.attach(found.connection);
  const again = topology.ensure("default");
  found.answer();
  await again;
  assert.equal(found.channels(), 1);
  assert.equal(topology.isDeclared("default"), true);
  lost.answer();
});

test("counting waits for a running declaration of the pool and declares nothing", async () => {
  const topology = newTopology();
  const slow = slowConnection();
  topology.attach(slow.connection);
  const sending = topology.ensure("default");
  const counting = readDepth(slow.connection, topology);
  slow.answer();
  await sending;
  const { waiting } = await counting;
  assert.deepEqual(
    waiting.map(({ hints }) => hints),
    [1, 1, 1],
  );
  assert.deepEqual(slow.declared, [
    "test.work.default.high",
    "test.work.default.normal",
    "test.work.default.low",
    "test.parked",
  ]);
});
