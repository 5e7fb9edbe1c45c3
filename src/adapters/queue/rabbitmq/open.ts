import type { LookupFunction } from "node:net";
import type { Priority } from "../../../core/delivery.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Random } from "../../../ports/random.ts";
import type { Telemetry } from "../../../ports/telemetry.ts";
import { withDeadline } from "../../../ports/timing/deadline.ts";
import { parseAddress } from "./address.ts";
import { loadDriver } from "./driver.ts";
import { type RabbitMqQueue, RabbitMqWorkQueue } from "./queue.ts";
import { openSession, type Session } from "./session.ts";
import { Topology, withChannel } from "./topology.ts";
import { WorkQueueSetupError } from "./errors.ts";

export interface RabbitMqQueueOptions {
  /** `amqp://user:password@host:5672/vhost` or `amqps://…`, with the parameters of address.ts. */
  readonly url: string;
  /** Begins the names of all queues. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "log">;
  /** Finds the broker's addresses instead of the system's resolver. */
  readonly lookup?: LookupFunction;
  /** For each attempt to connect. */
  readonly connectTimeoutMs?: number;
  /** Messages under way at most. More than that in one call are refused, always. */
  readonly unconfirmedMax?: number;
  /** Hints in hand at most, for each priority. */
  readonly prefetch?: Readonly<Record<Priority, number>>;
}

/** Enough for a name, TLS and a login far away. */
const connectTimeoutMsDefault = 6_000;
/** Together with the above under ten seconds, so that whoever starts the program is told soon. */
const setupMsMax = 3_000;
/** A few hundred bytes each: some megabytes at most while the broker is slow, and then callers go another way. */
const unconfirmedMaxDefault = 5_000;
/**
 * Each twice the next: of notices that wait in all three queues a worker handles so many, so high overtakes and low is never
 * left out (WDS-177). A hint is in hand for a statement or two, and what one worker holds no other one sees.
 */
const prefetchDefault: Readonly<Record<Priority, number>> = { high: 32, normal: 16, low: 8 };

/**
 * Opens the work queue of RabbitMQ 3.10 or later. Throws WorkQueueSetupError within ten seconds when the broker cannot be
 * used; what happens to the connection later never throws.
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
    if (isFirst) await proveRights(session, { ...options, topology, at: address.at });
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

interface RightsToProve extends Pick<RabbitMqQueueOptions, "clock" | "random"> {
  readonly topology: Topology;
  readonly at: string;
}

/** Whether we may declare, which shows only when it is done. */
async function proveRights(session: Session, { topology, at, clock, random }: RightsToProve): Promise<void> {
  try {
    const declared = withChannel(session.receiving, async (channel) => {
      await topology.declareCommon(channel);
      await topology.rehearse(channel, Buffer.from(random.bytes(4)).toString("hex"));
      return true;
    });
    if ((await withDeadline(declared, { timeoutMs: setupMsMax, clock })) === true) return;
    throw new WorkQueueSetupError(
      "no_answer",
      `RabbitMQ at ${at} does not declare a queue in time: check that a majority of its nodes runs and that no alarm is on`,
    );
  } catch (error) {
    await session.end();
    throw error;
  }
}
