import type { Channel, ChannelModel } from "amqplib";
import type { Priority } from "../../domain/delivery.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import { Alarm, type Clock, withDeadline } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Logger } from "../../ports/telemetry.ts";
import {
  type WorkConsumer,
  type WorkHint,
  type WorkQueue,
  type WorkQueueDepth,
  WorkQueueUnavailableError,
} from "../../ports/work-queue.ts";
import { Connection } from "./connection.ts";
import { Consumer } from "./consumer.ts";
import { type WorkQueueProblem, WorkQueueSetupError } from "./errors.ts";
import { closeQuietly, KeptChannel } from "./kept-channel.ts";
import { decodeLanes } from "./message.ts";
import { Publisher, type QueueCounters } from "./publisher.ts";
import type { Session } from "./session.ts";
import { type Topology, withChannel } from "./topology.ts";

/** Counts waiting hints at the broker. Declares missing queues, so that they exist when the next hint is sent. */
export async function readDepth(connection: ChannelModel, topology: Topology): Promise<WorkQueueDepth> {
  const waiting: WorkQueueDepth["waiting"][number][] = [];
  for (const pool of topology.pools) {
    try {
      waiting.push(...(await countPool(connection, topology, pool)));
    } catch (error) {
      // Skip a pool whose queues are not ours: none of our hints wait there, and the reannouncer needs the counts of
      // the other pools.
      if (!isProblem(error, "mismatch", "no_permission")) throw error;
    }
  }
  const parked = await withChannel(connection, (channel) => topology.countParked(channel));
  return { waiting, parked };
}

async function countPool(
  connection: ChannelModel,
  topology: Topology,
  pool: string,
): Promise<WorkQueueDepth["waiting"]> {
  if (topology.isRefused(pool)) return [];
  // Use a separate channel, because a refusal closes it.
  const count = () => withChannel(connection, (channel) => topology.countPool(pool, channel));
  await topology.ensure(pool);
  try {
    return await count();
  } catch (error) {
    if (!isProblem(error, "missing")) throw error;
  }
  // One of the queues was deleted.
  topology.forget(pool);
  await topology.ensure(pool);
  return count();
}

function isProblem(error: unknown, ...problems: readonly WorkQueueProblem[]): boolean {
  return error instanceof WorkQueueSetupError && problems.includes(error.problem);
}

interface ListenerOptions {
  readonly topology: Topology;
  readonly notified: (lanes: readonly LaneKey[]) => void;
  readonly missed: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Interval for verifying that notifications still arrive. While they do, the worker polls only every 30 s. */
const bindAgainMs = 10_000;

/** Receives notifications for this process's worker number, over a queue that is deleted with its consumer. */
class Listener {
  readonly #options: ListenerOptions;
  #connection: ChannelModel | null = null;
  #worker: number | null = null;
  /** Whether the queue or its exchange was deleted. */
  #wasDeleted = false;
  #kept: KeptChannel<Channel> | null = null;
  readonly #bindingAgain: Alarm;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#bindingAgain = new Alarm(options.clock);
  }

  async attach(connection: ChannelModel): Promise<void> {
    this.#connection = connection;
    await this.#kept?.attach(connection);
  }

  detach(): void {
    this.#connection = null;
    this.#bindingAgain.cancel();
    this.#kept?.detach();
  }

  listenAs(worker: number | null): void {
    if (worker === this.#worker) return;
    this.#worker = worker;
    this.#bindingAgain.cancel();
    const open = this.#kept?.detach() ?? null;
    // Closing the channel deletes its queue.
    if (open !== null) void closeQuietly(open);
    this.#kept = worker === null ? null : this.#channelFor(worker);
    if (this.#connection !== null) void this.#kept?.attach(this.#connection);
  }

  #channelFor(worker: number): KeptChannel<Channel> {
    return new KeptChannel({
      ...this.#options,
      name: `worker ${worker}`,
      open: (connection) => connection.createChannel(),
      setUp: async (channel) => {
        const { topology, random } = this.#options;
        const queue = topology.workerQueue(worker, Buffer.from(random.bytes(4)).toString("hex"));
        await topology.declareCommon(channel);
        await topology.declareWorkerQueue(channel, worker, queue);
        // Notifications may be lost, so they need no acknowledgement.
        await channel.consume(queue, (message) => this.#heard(channel, worker, message?.content ?? null), {
          noAck: true,
        });
        if (this.#wasDeleted) this.#options.missed();
        this.#wasDeleted = false;
        this.#bindLater(channel, worker, queue);
      },
    });
  }

  #bindLater(channel: Channel, worker: number, queue: string): void {
    // The channel may have been replaced during set-up.
    if (this.#kept?.isCurrent(channel) !== true) return;
    this.#bindingAgain.set(bindAgainMs, () => void this.#bindAgain(channel, worker, queue));
  }

  async #bindAgain(channel: Channel, worker: number, queue: string): Promise<void> {
    try {
      await this.#options.topology.bindWorkerQueue(channel, worker, queue);
      this.#bindLater(channel, worker, queue);
    } catch {
      // If the exchange is missing, the broker closes the channel; the next channel declares it.
      this.#wasDeleted = true;
    }
  }

  #heard(channel: Channel, worker: number, body: Buffer | null): void {
    if (worker !== this.#worker) return;
    if (body === null) {
      // The broker cancelled the consumer because the queue was deleted. The next channel declares a new one.
      this.#wasDeleted = true;
      void closeQuietly(channel);
      return;
    }
    const decoded = decodeLanes(body);
    if (decoded.kind === "lanes") this.#options.notified(decoded.lanes);
    else this.#options.log.warn({ worker, reason: decoded.reason }, "received an unreadable notification");
  }
}

/** State of the connection, for metrics and operators. Numbers are totals since the start unless stated otherwise. */
interface RabbitMqStatus extends Readonly<QueueCounters> {
  readonly isConnected: boolean;
  /** Whether the broker is short of memory or disk and blocks publishing. */
  readonly isBlocked: boolean;
  /** Current number of consecutive failed attempts (WDS-212). */
  readonly failedAttempts: number;
  readonly lostConnections: number;
  /** Current number of messages that the broker has not confirmed. */
  readonly underWay: number;
}

/** The work queue port, with additions that are specific to RabbitMQ. */
export interface RabbitMqQueue extends WorkQueue {
  readonly status: RabbitMqStatus;
}

interface QueueSettings {
  /** The address without credentials. */
  readonly at: string;
  readonly topology: Topology;
  readonly prefetch: Readonly<Record<Priority, number>>;
  readonly unconfirmedMax: number;
  readonly connect: (signal: AbortSignal) => Promise<Session>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Time limit for reading queue depths: metrics must not wait long. */
const depthMsMax = 3_000;
/** Hints that are not sent at shutdown are only delayed: the reannouncer repeats them. */
const flushMsMax = 2_000;

/**
 * Combines the parts. Each does its own work and recovers on its own:
 *
 *   Connection        one session, opened again when it is lost
 *     Session         two AMQP connections
 *       sending         Publisher   a kept channel with confirms
 *       receiving       Consumer    a kept channel: hints of the pool, acknowledged
 *                       Listener    a kept channel: notifications to this worker, not acknowledged
 *                       Topology, readDepth   a short-lived channel each, because a refusal closes it
 *
 * A kept channel that closes is reopened in the same session; a lost session takes all channels with it.
 */
export class RabbitMqWorkQueue implements RabbitMqQueue {
  readonly #settings: QueueSettings;
  readonly #counters: QueueCounters = { dropped: 0, parked: 0, unheard: 0 };
  readonly #publisher: Publisher;
  readonly #listener: Listener;
  readonly #connection: Connection<Session>;
  /** The receiving connection; null while disconnected. */
  #receiving: ChannelModel | null = null;
  #work: WorkConsumer | null = null;
  #consumer: Consumer | null = null;
  #depth: Promise<WorkQueueDepth> | null = null;
  #closed: Promise<void> | null = null;

  constructor(settings: QueueSettings) {
    this.#settings = settings;
    const counters = this.#counters;
    this.#publisher = new Publisher({ ...settings, counters });
    this.#listener = new Listener({
      ...settings,
      notified: (lanes) => this.#work?.notified(lanes),
      missed: () => this.#work?.missed(),
    });
    this.#connection = new Connection({
      ...settings,
      up: (session) => this.#up(session),
      down: () => this.#down(),
    });
  }

  /**
   * Throws WorkQueueSetupError if no connection is established in time. Later connections are established
   * automatically.
   */
  open(): Promise<void> {
    return this.#connection.open();
  }

  get isConnected(): boolean {
    return this.#canSend && this.#consumer?.isTroubled !== true;
  }

  get status(): RabbitMqStatus {
    return {
      ...this.#counters,
      isConnected: this.isConnected,
      isBlocked: this.#connection.session?.isBlocked === true,
      failedAttempts: this.#connection.session === null ? this.#connection.failedAttempts : 0,
      lostConnections: this.#connection.losses,
      underWay: this.#publisher.underWay,
    };
  }

  send(hints: readonly WorkHint[]): boolean {
    return this.#canSend && this.#publisher.send(hints);
  }

  notify(worker: number, lanes: readonly LaneKey[]): boolean {
    return this.#canSend && this.#publisher.notify(worker, lanes);
  }

  consume(consumer: WorkConsumer): void {
    if (this.#work !== null) throw new Error("this queue already has a consumer");
    this.#work = consumer;
    this.#consumer = new Consumer(consumer, {
      ...this.#settings,
      publisher: this.#publisher,
      counters: this.#counters,
    });
    if (this.#receiving !== null) void this.#consumer.attach(this.#receiving);
  }

  async stopConsuming(): Promise<void> {
    await this.#consumer?.stop();
  }

  listenAs(worker: number | null): void {
    this.#listener.listenAs(worker);
  }

  async depth(): Promise<WorkQueueDepth> {
    const session = this.#closed === null ? this.#connection.session : null;
    if (session === null) throw new WorkQueueUnavailableError("not connected to RabbitMQ");
    this.#depth ??= readDepth(session.receiving, this.#settings.topology).finally(() => (this.#depth = null));
    try {
      const limit = { timeoutMs: depthMsMax, clock: this.#settings.clock };
      const depth = await withDeadline(this.#depth, limit);
      if (depth !== null) return depth;
    } catch (error) {
      throw new WorkQueueUnavailableError("RabbitMQ does not report its queue depths", { cause: error });
    }
    throw new WorkQueueUnavailableError("RabbitMQ did not report its queue depths in time");
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.stopConsuming();
    this.#listener.listenAs(null);
    await withDeadline(this.#publisher.flushed(), { timeoutMs: flushMsMax, clock: this.#settings.clock });
    await this.#connection.close();
  }

  get #canSend(): boolean {
    const session = this.#closed === null ? this.#connection.session : null;
    return session !== null && !session.isBlocked && this.#publisher.isReady;
  }

  async #up(session: Session): Promise<void> {
    // Declare over the receiving connection, because the broker does not read from the sending connection while it
    // blocks publishing.
    this.#settings.topology.attach(session.receiving);
    await this.#publisher.attach(session);
    this.#receiving = session.receiving;
    await Promise.all([this.#consumer?.attach(session.receiving), this.#listener.attach(session.receiving)]);
  }

  #down(): void {
    this.#receiving = null;
    this.#settings.topology.detach();
    this.#publisher.detach();
    this.#consumer?.detach();
    this.#listener.detach();
  }
}
