/** Prefixes that give one test its own names on the shared RabbitMQ and Redis. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type Channel, connect } from "amqplib";
import { Topology } from "../../../src/queue/rabbitmq/topology.ts";
import { systemClock } from "../../../src/system/clock.ts";
import { priorities } from "../../../src/domain/delivery.ts";
import {
  connectOperator,
  keysUnder,
  type Operator,
  removeKeys,
  sharedRedisUrl,
} from "../../conformance/shared-state/redis-state.fixture.ts";

const queueUrl = process.env["POSTHORN_TEST_QUEUE_URL"] ?? "amqp://guest:guest@127.0.0.1:5672";
const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Worker pools that tests use, including `default`. */
const pools = ["default", "big"] as const;

const companionNames = ["rabbitmq", "redis"] as const;
export type CompanionName = (typeof companionNames)[number];

export interface OwnPrefixes {
  readonly values: {
    readonly queueUrl: string;
    readonly queuePrefix: string;
    readonly redisUrl: string;
    readonly redisPrefix: string;
  };
  /** The same settings as environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Returns the names that exist now. */
  traces(): Promise<Traces>;
  /** Depth of a pool's queue of normal priority. Rejects if the queue does not exist. */
  workQueue(pool: (typeof pools)[number]): Promise<WorkQueueTraces>;
  /** Runs an administrative operation on RabbitMQ, with the names of the queues. */
  operate<Result>(work: (channel: Channel, names: Topology) => Promise<Result>): Promise<Result>;
  /** Deletes everything under the prefixes. Must be called only when they are not used any more. */
  remove(): Promise<void>;
}

const deploymentId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:/;

export interface Traces {
  /** Number of consumers of a pool's queue of normal priority. */
  readonly consumers: number;
  /** Names of the keys in Redis, without the prefix and the deployment ID. */
  readonly keys: readonly string[];
}

export interface WorkQueueTraces {
  readonly name: string;
  readonly consumers: number;
  /** Number of waiting hints, which accumulate while the pool has no workers. */
  readonly notices: number;
}

/** Creates prefixes for RabbitMQ and Redis, or for only one of them. */
export function ownPrefixes(companions: readonly CompanionName[] = companionNames): OwnPrefixes {
  const usesRabbitMq = companions.includes("rabbitmq");
  const usesRedis = companions.includes("redis");
  const prefix = `posthorn-test-${randomBytes(6).toString("hex")}`;
  return {
    values: { queueUrl, queuePrefix: prefix, redisUrl: sharedRedisUrl, redisPrefix: prefix },
    env: {
      ...(usesRabbitMq && { POSTHORN_QUEUE_URL: queueUrl, POSTHORN_QUEUE_PREFIX: prefix }),
      ...(usesRedis && { POSTHORN_REDIS_URL: sharedRedisUrl, POSTHORN_REDIS_PREFIX: prefix }),
    },
    traces: async () => {
      const keys = usesRedis ? await withRedis((operator) => keysUnder(operator, prefix)) : [];
      const consumers = usesRabbitMq
        ? (await lookAt(namesOf(prefix).workQueue("default", "normal"))).consumers
        : 0;
      return { consumers, keys: keys.flatMap((key) => keyOfDeployment(key.slice(prefix.length + 1))) };
    },
    workQueue: (pool) => lookAt(namesOf(prefix).workQueue(pool, "normal")),
    operate: (work) => withChannel((channel) => work(channel, namesOf(prefix))),
    remove: async () => {
      if (usesRedis) await withRedis((operator) => removeKeys(operator, prefix));
      if (usesRabbitMq) await withChannel((channel) => removeQueues(channel, namesOf(prefix)));
    },
  };
}

/** Removes the deployment ID, which every key must contain. Returns an empty list for trial keys. */
function keyOfDeployment(key: string): readonly string[] {
  if (key.startsWith("rehearsal:")) return [];
  assert.match(key, deploymentId, "a key is of one deployment");
  return [key.replace(deploymentId, "")];
}

function namesOf(prefix: string): Topology {
  return new Topology({ prefix, clock: systemClock, log: silent });
}

function lookAt(name: string): Promise<WorkQueueTraces> {
  return withChannel(async (channel) => {
    const { consumerCount, messageCount } = await channel.checkQueue(name);
    return { name, consumers: consumerCount, notices: messageCount };
  });
}

/** The queues of workers are deleted with their connections. Deleting a nonexistent queue is not an error. */
async function removeQueues(channel: Channel, names: Topology): Promise<void> {
  for (const pool of pools)
    for (const priority of priorities) await channel.deleteQueue(names.workQueue(pool, priority));
  await channel.deleteQueue(names.parkedQueue);
  await channel.deleteExchange(names.notifyExchange);
}

async function withChannel<Result>(work: (channel: Channel) => Promise<Result>): Promise<Result> {
  const connection = await connect(queueUrl);
  try {
    const channel = await connection.createConfirmChannel();
    // If the broker refuses an operation, the call that caused it rejects, so the error event can be ignored.
    channel.on("error", () => undefined);
    const result = await work(channel);
    // Waits until the broker has received all messages that were sent.
    await channel.waitForConfirms();
    return result;
  } finally {
    await connection.close();
  }
}

async function withRedis<Result>(work: (operator: Operator) => Promise<Result>): Promise<Result> {
  const operator = await connectOperator();
  try {
    return await work(operator);
  } finally {
    await operator.close();
  }
}
