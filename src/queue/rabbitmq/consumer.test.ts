import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { suite, test } from "node:test";
import type { ChannelModel } from "amqplib";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { Consumer, type ConsumerOptions } from "./consumer.ts";

const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

type Take = (message: null) => void;

/** A channel that accepts a limited number of consumers. The test chooses what happens to the next one. */
class FakeChannel extends EventEmitter {
  readonly takes: Take[] = [];
  readonly #consumersMax: number;
  readonly #next: () => Promise<never>;

  constructor(consumersMax: number, next = refused) {
    super();
    this.#consumersMax = consumersMax;
    this.#next = next;
  }

  prefetch(): Promise<void> {
    return Promise.resolve();
  }

  assertQueue(): Promise<void> {
    return Promise.resolve();
  }

  consume(_: string, take: Take): Promise<{ consumerTag: string }> {
    if (this.takes.length === this.#consumersMax) return this.#next();
    this.takes.push(take);
    return Promise.resolve({ consumerTag: `tag-${this.takes.length}` });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const refused = (): Promise<never> => Promise.reject(new Error("404 NOT_FOUND - no queue"));
const unanswered = (): Promise<never> => new Promise(() => undefined);

interface World {
  /** How many times `missed` was called. */
  readonly missed: () => number;
  /** Advances time until no channels are left. */
  readonly pass: () => Promise<void>;
}

async function worldWith(given: readonly FakeChannel[]): Promise<World> {
  const clock = new ManualClock();
  const channels = [...given];
  let missed = 0;
  const nothing = () => Promise.resolve();
  const options = {
    clock,
    log: quiet,
    random: { uniform: () => 0 },
    prefetch: { high: 1, normal: 1, low: 1 },
    topology: { forget: nothing, ensure: nothing, declareCommon: nothing, workQueue: () => "queue" },
  };
  const consumer = new Consumer(
    {
      pool: "default",
      handle: () => Promise.resolve("done"),
      notified: () => undefined,
      missed: () => (missed += 1),
    },
    options as unknown as ConsumerOptions,
  );
  const connection = { createChannel: () => Promise.resolve(channels.shift()) };
  await consumer.attach(connection as unknown as ChannelModel);
  const pass = async (): Promise<void> => {
    for (let seconds = 0; channels.length > 0; seconds += 1) {
      assert.ok(seconds < 60, "no other channel is opened");
      await clock.turn();
      clock.advance(1_000);
      await clock.turn();
    }
  };
  return { missed: () => missed, pass };
}

suite("consumer of a RabbitMQ queue", () => {
  test("the first start misses no hints", async () => {
    const { missed } = await worldWith([new FakeChannel(3)]);
    assert.equal(missed(), 0);
  });

  test("a consumer that lost its queues before all priorities began may have missed hints", async () => {
    const { missed, pass } = await worldWith([new FakeChannel(2), new FakeChannel(3)]);
    await pass();
    assert.equal(missed(), 1);
  });

  test("the channel is replaced if the broker does not answer while deleted queues are declared again", async () => {
    const first = new FakeChannel(3, unanswered);
    const second = new FakeChannel(3);
    const { missed, pass } = await worldWith([first, second]);
    for (const take of first.takes) take(null);
    await pass();
    assert.deepEqual([second.takes.length, missed()], [3, 1]);
  });
});
