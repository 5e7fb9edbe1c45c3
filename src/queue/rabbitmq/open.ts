import type { LookupFunction } from "node:net";
import type { Priority } from "../../domain/delivery.ts";
import { type Clock, withDeadline } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { WorkQueueSetupError } from "./errors.ts";
import { type RabbitMqQueue, RabbitMqWorkQueue } from "./queue.ts";
import { loadDriver, openSession, parseAddress, type Session } from "./session.ts";
import { Topology, withChannel } from "./topology.ts";

export interface RabbitMqQueueOptions {
  /** `amqp://user:password@host:5672/vhost` or `amqps://…`, with the parameters of session.ts. */
  readonly url: string;
  /** Prefix of all queue names. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "log">;
  /** Resolves the broker's name, in place of the system's resolver. */
  readonly lookup?: LookupFunction;
  /** Time limit for each attempt to connect. */
  readonly connectTimeoutMs?: number;
  /** Maximum number of messages in flight. A single call with more messages is always refused. */
  readonly unconfirmedMax?: number;
  /** Maximum number of unacknowledged hints, per priority. */
  readonly prefetch?: Readonly<Record<Priority, number>>;
}

/** Long enough for name resolution, TLS and a login on a distant broker. */
const connectTimeoutMsDefault = 6_000;
/**
 * Together with the connect timeout, this stays below ten seconds, so that the operator sees a failed start quickly.
 */
const setupMsMax = 3_000;
/**
 * At a few hundred bytes each, this limits memory to a few megabytes while the broker is slow. Beyond the limit,
 * callers use another path.
 */
const unconfirmedMaxDefault = 5_000;
/**
 * Each limit is twice the next lower one. If hints wait in all three queues, a worker handles them in this ratio: high
 * priority overtakes, and low priority never starves (WDS-177). A worker holds a hint only for one or two statements,
 * and other workers cannot see it during that time.
 */
const prefetchDefault: Readonly<Record<Priority, number>> = { high: 32, normal: 16, low: 8 };

/**
 * Opens the work queue on RabbitMQ 3.10 or later. Throws WorkQueueSetupError within ten seconds when the broker cannot
 * be used. Later connection failures never throw.
 */
export async function openRabbitMqQueue(options: RabbitMqQueueOptions): Promise<RabbitMqQueue> {
  const { url, prefix, clock, random, telemetry } = options;
  const address = parseAddress(url);
  const driver = await loadDriver();
  const connectTimeoutMs = options.connectTimeoutMs ?? connectTimeoutMsDefault;
  const topology = new Topology({ prefix, clock, log: telemetry.log });
  let isFirst = true;
  const connect = async (signal: AbortSignal): Promise<Session> => {
    const session = await openSession(
      { driver, address, connectTimeoutMs, clock, lookup: options.lookup },
      signal,
    );
    if (isFirst) await proveRights(session, topology, address.at, options);
    isFirst = false;
    return session;
  };
  const queue = new RabbitMqWorkQueue({
    at: address.at,
    topology,
    connect,
    clock,
    random,
    log: telemetry.log,
    unconfirmedMax: options.unconfirmedMax ?? unconfirmedMaxDefault,
    prefetch: options.prefetch ?? prefetchDefault,
  });
  await queue.open();
  return queue;
}

/** Checks the permission to declare queues, which only a real declaration reveals. */
async function proveRights(
  session: Session,
  topology: Topology,
  at: string,
  { clock, random }: Pick<RabbitMqQueueOptions, "clock" | "random">,
): Promise<void> {
  try {
    const declared = withChannel(session.receiving, async (channel) => {
      await topology.declareCommon(channel);
      await topology.rehearse(channel, Buffer.from(random.bytes(4)).toString("hex"));
      return true;
    });
    if ((await withDeadline(declared, { timeoutMs: setupMsMax, clock })) === true) return;
    throw new WorkQueueSetupError(
      "no_answer",
      `RabbitMQ at ${at} does not declare a queue in time: check that a majority of its nodes is running and that no alarm is active`,
    );
  } catch (error) {
    await session.end();
    throw error;
  }
}
