import type { Channel, ChannelModel, Options } from "amqplib";
import { priorities, type Priority } from "../../domain/delivery.ts";
import { messageOf } from "../../domain/thrown.ts";
import { type Clock, withDeadline } from "../../ports/clock.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { WorkQueueDepth } from "../../ports/work-queue.ts";
import { declareError } from "./errors.ts";
import { closeQuietly } from "./kept-channel.ts";

/**
 * Maximum number of hints in one queue of a pool. Further hints are refused. Otherwise a pool without workers would
 * fill the broker, because the reannouncer announces the same lanes repeatedly.
 */
const noticesMax = 100_000;
/**
 * A hint is parked after this many workers were lost while they held it. A worker that dies counts for all hints it
 * held.
 */
const deliveriesMax = 10;
/** The oldest messages are dropped first. */
const parkedMax = 10_000;
const parkedBytesMax = 67_108_864;
/**
 * Delivery limit of the parked queue. Inspecting a parked hint may count as a delivery, and later versions of RabbitMQ
 * have a default limit of 20 deliveries.
 */
const parkedDeliveriesMax = 1_000_000;
/**
 * Limits of the age and number of notifications in a worker's queue. Notifications beyond these limits would be
 * useless.
 */
const notifiedTtlMs = 60_000;
const notifiedMax = 1_000;
/**
 * If the queues of a pool cannot be declared, hints for the pool are refused for this long. An operator has to change
 * permissions or names.
 */
const refusedMs = 30_000;
/** A quorum queue without a majority never responds; electing a leader takes less time. */
const declareMsMax = 10_000;

export interface TopologyOptions {
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The queues, their names and how they are declared. All versions from 3.10 to 4.x accept these arguments. Each is set
 * explicitly, because defaults differ. The broker refuses a queue that exists with different arguments, so they must not
 * change while the prefix stays the same.
 *
 *   <prefix>.work.<pool>.<high|normal|low>   quorum; for any worker of the pool; through the default exchange
 *   <prefix>.parked                          quorum; messages that are unreadable or were redelivered too often
 *   <prefix>.tell                            direct exchange; the routing key is the number of a worker
 *   <prefix>.worker.<number>.<random>        exclusive; bound to <prefix>.tell. The random part lets a returning process
 *                                            begin while the broker still holds its old connection open
 */
export class Topology {
  readonly #options: TopologyOptions;
  readonly #pools = new Map<string, PoolState>();
  readonly #workOf = new Map<string, WorkOfQueue>();
  #connection: ChannelModel | null = null;

  constructor(options: TopologyOptions) {
    this.#options = options;
  }

  get parkedQueue(): string {
    return `${this.#options.prefix}.parked`;
  }

  get notifyExchange(): string {
    return `${this.#options.prefix}.tell`;
  }

  /** Pools that this process publishes to or consumes from. */
  get pools(): readonly string[] {
    return [...this.#pools.keys()];
  }

  workQueue(pool: string, priority: Priority): string {
    return `${this.#options.prefix}.work.${pool}.${priority}`;
  }

  workerQueue(worker: number, random: string): string {
    return `${this.#options.prefix}.worker.${worker}.${random}`;
  }

  /** The pool and the priority that a queue serves; null if `ensure` was not called for the pool. */
  workOf(queue: string): WorkOfQueue | null {
    return this.#workOf.get(queue) ?? null;
  }

  attach(connection: ChannelModel): void {
    this.#connection = connection;
    // Anything may have been deleted while the connection was lost.
    for (const pool of this.#pools.keys()) this.#pools.set(pool, { kind: "unknown" });
  }

  detach(): void {
    this.#connection = null;
  }

  isDeclared(pool: string): boolean {
    return this.#pools.get(pool)?.kind === "declared";
  }

  /** Whether hints for the pool are refused because its queues could not be declared recently. */
  isRefused(pool: string): boolean {
    const state = this.#pools.get(pool);
    return state?.kind === "refused" && state.until > this.#options.clock.monotonicMs();
  }

  /**
   * Marks the queues of a pool as possibly missing. Does nothing while they are being declared: the broker could reply
   * to a second, parallel declaration before the queue has a leader.
   */
  forget(pool: string): void {
    if (this.#pools.get(pool)?.kind !== "declaring") this.#pools.set(pool, { kind: "unknown" });
  }

  /** Declares the queues of a pool, once per connection. Throws WorkQueueSetupError, or the errors of amqplib. */
  async ensure(pool: string): Promise<void> {
    const state = this.#pools.get(pool);
    if (state?.kind === "declared") return;
    if (state?.kind === "declaring") return state.done;
    const done = this.#declare(pool);
    this.#pools.set(pool, { kind: "declaring", done });
    return done;
  }

  /** Declares what all pools share. Throws WorkQueueSetupError. */
  async declareCommon(channel: Channel): Promise<void> {
    await declared(
      `the queue ${this.parkedQueue}`,
      channel.assertQueue(this.parkedQueue, parkedQueueOptions),
    );
    const exchange = channel.assertExchange(this.notifyExchange, "direct", {
      durable: true,
      autoDelete: false,
    });
    await declared(`the exchange ${this.notifyExchange}`, exchange);
  }

  /**
   * Checks that work queues may be declared, because their dead lettering requires a separate permission. Removes what
   * it declares. Throws WorkQueueSetupError.
   */
  async rehearse(channel: Channel, random: string): Promise<void> {
    const queue = this.workerQueue(0, random);
    const deadLetters = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": this.parkedQueue };
    const options = { ...workerQueueOptions, arguments: { ...workerQueueArguments, ...deadLetters } };
    await declared(`the queue ${queue}`, channel.assertQueue(queue, options));
    await channel.deleteQueue(queue);
  }

  /** Counts the parked messages. Declares the queue if it is missing. */
  async countParked(channel: Channel): Promise<number> {
    const asserted = channel.assertQueue(this.parkedQueue, parkedQueueOptions);
    const { messageCount } = await declared(`the queue ${this.parkedQueue}`, asserted);
    return messageCount;
  }

  /**
   * Counts the waiting hints of a pool. Never declares queues: if `ensure` is declaring them at the same time, the
   * broker would reply before the queue has a leader, and hints sent then would be lost. Throws, and closes the
   * channel, if a queue is missing.
   */
  async countPool(pool: string, channel: Channel): Promise<WorkQueueDepth["waiting"]> {
    const waiting: WorkQueueDepth["waiting"][number][] = [];
    for (const priority of priorities) {
      const queue = this.workQueue(pool, priority);
      const { messageCount } = await declared(`the queue ${queue}`, channel.checkQueue(queue));
      waiting.push({ pool, priority, hints: messageCount });
    }
    return waiting;
  }

  /** Declares a queue that only this connection sees, and that is deleted with its consumer. */
  async declareWorkerQueue(channel: Channel, worker: number, queue: string): Promise<void> {
    await declared(`the queue ${queue}`, channel.assertQueue(queue, workerQueueOptions));
    await this.bindWorkerQueue(channel, worker, queue);
  }

  /**
   * Binding again is harmless. It helps if the exchange was deleted and created again, which the broker does not
   * announce.
   */
  async bindWorkerQueue(channel: Channel, worker: number, queue: string): Promise<void> {
    await channel.bindQueue(queue, this.notifyExchange, String(worker));
  }

  async #declare(pool: string): Promise<void> {
    const { clock, log } = this.#options;
    const connection = this.#connection;
    try {
      if (connection === null) throw new Error("not connected");
      // Use a separate channel: a refusal closes it and must affect nothing else.
      const declaring = withChannel(connection, async (channel) => {
        for (const priority of priorities) {
          const queue = this.workQueue(pool, priority);
          this.#workOf.set(queue, { pool, priority });
          await declared(`the queue ${queue}`, channel.assertQueue(queue, this.#workQueueOptions()));
        }
        return true;
      });
      const isDeclared = await withDeadline(declaring, { timeoutMs: declareMsMax, clock });
      if (isDeclared === null) throw new Error("RabbitMQ does not respond in time");
      if (this.#connection === connection) this.#pools.set(pool, { kind: "declared" });
    } catch (error) {
      if (this.#connection === connection && connection !== null) {
        const reason = messageOf(error);
        log.error({ pool, reason }, "the queues of a worker pool cannot be used");
        this.#pools.set(pool, { kind: "refused", until: clock.monotonicMs() + refusedMs });
      }
      throw error;
    }
  }

  #workQueueOptions(): Options.AssertQueue {
    return {
      durable: true,
      arguments: {
        "x-queue-type": "quorum",
        "x-delivery-limit": deliveriesMax,
        "x-max-length": noticesMax,
        "x-overflow": "reject-publish",
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": this.parkedQueue,
      },
    };
  }
}

export interface WorkOfQueue {
  readonly pool: string;
  readonly priority: Priority;
}

type PoolState =
  | { readonly kind: "unknown" | "declared" }
  | { readonly kind: "declaring"; readonly done: Promise<void> }
  | { readonly kind: "refused"; readonly until: number };

const parkedQueueOptions: Options.AssertQueue = {
  durable: true,
  arguments: {
    "x-queue-type": "quorum",
    "x-delivery-limit": parkedDeliveriesMax,
    "x-max-length": parkedMax,
    "x-max-length-bytes": parkedBytesMax,
    "x-overflow": "drop-head",
  },
};

const workerQueueArguments = {
  // Set explicitly, because a virtual host may have a different default type, which cannot be exclusive.
  "x-queue-type": "classic",
  "x-message-ttl": notifiedTtlMs,
  "x-max-length": notifiedMax,
  "x-overflow": "drop-head",
} as const;

const workerQueueOptions: Options.AssertQueue = {
  durable: false,
  exclusive: true,
  autoDelete: true,
  arguments: workerQueueArguments,
};

async function declared<Reply>(what: string, reply: Promise<Reply>): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    throw declareError(error, what);
  }
}

/** Runs `work` with a separate channel. */
export async function withChannel<Result>(
  connection: ChannelModel,
  work: (channel: Channel) => Promise<Result>,
): Promise<Result> {
  const channel = await connection.createChannel();
  // The error event needs no handling, because the call that caused it also rejects.
  channel.on("error", () => undefined);
  try {
    return await work(channel);
  } finally {
    void closeQuietly(channel);
  }
}
