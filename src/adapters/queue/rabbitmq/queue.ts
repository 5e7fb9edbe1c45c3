import type { ChannelModel } from "amqplib";
import type { Priority } from "../../../core/delivery.ts";
import type { LaneKey } from "../../../core/webhook.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Random } from "../../../ports/random.ts";
import type { Logger } from "../../../ports/telemetry.ts";
import { withDeadline } from "../../../ports/timing/deadline.ts";
import {
  type WorkConsumer,
  type WorkHint,
  type WorkQueue,
  type WorkQueueDepth,
  WorkQueueUnavailableError,
} from "../../../ports/work-queue.ts";
import { Connection } from "./connection.ts";
import { Consumer } from "./consumer.ts";
import { readDepth } from "./depth.ts";
import { Listener } from "./listener.ts";
import { Publisher } from "./publisher.ts";
import type { Session } from "./session.ts";
import type { QueueCounters } from "./queue-counters.ts";
import type { Topology } from "./topology.ts";

/** State of the connection, for metrics and operators. Numbers are totals since the start unless they say otherwise. */
export interface RabbitMqStatus extends Readonly<QueueCounters> {
  readonly isConnected: boolean;
  /** The broker is short of memory or disk and blocks publishing. */
  readonly isBlocked: boolean;
  /** Current number of consecutive failed attempts (WDS-212). */
  readonly failedAttempts: number;
  readonly lostConnections: number;
  /** Current number of messages that the broker has not confirmed. */
  readonly underWay: number;
}

/** The work queue, with additions to the port. */
export interface RabbitMqQueue extends WorkQueue {
  readonly status: RabbitMqStatus;
}

export interface QueueSettings {
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

/** Depths are read for metrics, which do not wait long. */
const depthMsMax = 3_000;
/** Hints that are not sent at the end are only late: the reannouncer repeats them. */
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
  /** The connection to consume from, or null while there is none. */
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

  /** Throws WorkQueueSetupError when no connection is made in time. Later connections are made automatically. */
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

  notify(message: { readonly worker: number; readonly lanes: readonly LaneKey[] }): boolean {
    return this.#canSend && this.#publisher.notify(message.worker, message.lanes);
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
    // Declare over the receiving connection: the broker does not read the other one while it is blocked.
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
