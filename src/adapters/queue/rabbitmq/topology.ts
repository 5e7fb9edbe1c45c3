import type { Channel, ChannelModel, Options } from "amqplib";
import { priorities, type Priority } from "../../../core/delivery.ts";
import { messageOf } from "../../../core/thrown.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/telemetry.ts";
import type { WorkQueueDepth } from "../../../ports/work-queue.ts";
import { withDeadline } from "../../../ports/timing/deadline.ts";
import { declareError } from "./errors.ts";
import { closeQuietly } from "./kept-channel.ts";

/**
 * Hints that one queue of a pool holds. More are refused, so that a pool without workers cannot fill the broker, where
 * the reannouncer announces the same lanes again and again.
 */
const noticesMax = 100_000;
/** A hint whose worker was lost so often with it in hand is parked. Each worker that dies counts for all it had. */
const deliveriesMax = 10;
/** The oldest go first. */
const parkedMax = 10_000;
const parkedBytesMax = 67_108_864;
/** Parked hints are there to be looked at, and looking may count as a delivery; later versions default to 20. */
const parkedDeliveriesMax = 1_000_000;
/** Notifications that a worker has not received after this time, or beyond this number, are of no use any more. */
const notifiedTtlMs = 60_000;
const notifiedMax = 1_000;
/** After a pool's queues could not be declared nothing is taken for it for this long: somebody has to change rights or names. */
const refusedMs = 30_000;
/** A queue whose nodes have no majority answers nothing; a leader is elected in less. */
const declareMsMax = 10_000;

export interface TopologyOptions {
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The queues, their names and how they are declared. The arguments are those that every version from 3.10 to 4.x takes,
 * each one set, because defaults differ; a queue that exists with other arguments is refused by the broker, so they
 * must not change while the prefix stays.
 *
 *   <prefix>.work.<pool>.<high|normal|low>   quorum; for any worker of the pool; through the default exchange
 *   <prefix>.parked                          quorum; what could not be read or was handed out too often
 *   <prefix>.tell                            direct exchange; the routing key is the number of a worker
 *   <prefix>.worker.<number>.<random>        exclusive; bound to it. The random part lets a process that comes back begin
 *                                            while the broker still believes in its old connection
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

  /** Pools that this process sends to or takes from. */
  get pools(): readonly string[] {
    return [...this.#pools.keys()];
  }

  workQueue(pool: string, priority: Priority): string {
    return `${this.#options.prefix}.work.${pool}.${priority}`;
  }

  workerQueue(worker: number, random: string): string {
    return `${this.#options.prefix}.worker.${worker}.${random}`;
  }

  /** What a queue is for that `ensure` was called for. */
  workOf(queue: string): WorkOfQueue | null {
    return this.#workOf.get(queue) ?? null;
  }

  attach(connection: ChannelModel): void {
    this.#connection = connection;
    // While we were away anything may have been deleted.
    for (const pool of this.#pools.keys()) this.#pools.set(pool, { kind: "unknown" });
  }

  detach(): void {
    this.#connection = null;
  }

  isDeclared(pool: string): boolean {
    return this.#pools.get(pool)?.kind === "declared";
  }

  /** Whether its queues could not be declared a moment ago. */
  isRefused(pool: string): boolean {
    const state = this.#pools.get(pool);
    return state?.kind === "refused" && state.until > this.#options.clock.monotonicMs();
  }

  /**
   * Its queues are gone, or may be. While they are declared they are about to be there: a second declaration beside the
   * first could be answered before the queue has a leader.
   */
  forget(pool: string): void {
    if (this.#pools.get(pool)?.kind !== "declaring") this.#pools.set(pool, { kind: "unknown" });
  }

  /** Declares the queues of a pool, once for each connection. Throws WorkQueueSetupError, or what the client throws. */
  async ensure(pool: string): Promise<void> {
    const state = this.#pools.get(pool);
    if (state?.kind === "declared") return;
    if (state?.kind === "declaring") return state.done;
    const done = this.#declare(pool);
    this.#pools.set(pool, { kind: "declaring", done });
    return done;
  }

  /** What there is once. Throws WorkQueueSetupError. */
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

  /** Whether work queues may be declared, whose dead letters need a right of their own. Leaves nothing. Throws WorkQueueSetupError. */
  async rehearse(channel: Channel, random: string): Promise<void> {
    const queue = this.workerQueue(0, random);
    const deadLetters = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": this.parkedQueue };
    const options = { ...workerQueueOptions, arguments: { ...workerQueueArguments, ...deadLetters } };
    await declared(`the queue ${queue}`, channel.assertQueue(queue, options));
    await channel.deleteQueue(queue);
  }

  /** How many messages wait there. Declares it when it is missing. */
  async countParked(channel: Channel): Promise<number> {
    const asserted = channel.assertQueue(this.parkedQueue, parkedQueueOptions);
    const { messageCount } = await declared(`the queue ${this.parkedQueue}`, asserted);
    return messageCount;
  }

  /**
   * How many hints wait for a pool. Asks only: a declaration beside the one of `ensure` would be answered before the
   * queue has a leader, and what is sent to it then is lost. Throws, and closes the channel, when a queue is missing.
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

  /** A queue that only this connection sees, and that ends with its consumer. */
  async declareWorkerQueue(
    channel: Channel,
    { worker, queue }: { readonly worker: number; readonly queue: string },
  ): Promise<void> {
    await declared(`the queue ${queue}`, channel.assertQueue(queue, workerQueueOptions));
    await this.bindWorkerQueue(channel, { worker, queue });
  }

  /**
   * Again does no harm, and helps when the exchange was deleted and made again, which the broker announces to nobody.
   */
  async bindWorkerQueue(
    channel: Channel,
    { worker, queue }: { readonly worker: number; readonly queue: string },
  ): Promise<void> {
    await channel.bindQueue(queue, this.notifyExchange, String(worker));
  }

  async #declare(pool: string): Promise<void> {
    const { clock, log } = this.#options;
    const connection = this.#connection;
    try {
      if (connection === null) throw new Error("not connected");
      // A channel of its own: a refusal closes it, and nothing else shall end with it.
      const declaring = withChannel(connection, async (channel) => {
        for (const priority of priorities) {
          const queue = this.workQueue(pool, priority);
          this.#workOf.set(queue, { pool, priority });
          await declared(`the queue ${queue}`, channel.assertQueue(queue, this.#workQueueOptions()));
        }
        return true;
      });
      const isDeclared = await withDeadline(declaring, { timeoutMs: declareMsMax, clock });
      if (isDeclared === null) throw new Error("RabbitMQ does not answer in time");
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
  // Named, because a virtual host may have another default, which cannot be exclusive.
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

/** Runs `work` with a channel of its own. */
export async function withChannel<Result>(
  connection: ChannelModel,
  work: (channel: Channel) => Promise<Result>,
): Promise<Result> {
  const channel = await connection.createChannel();
  // What the broker says with it rejects the call that caused it.
  channel.on("error", () => undefined);
  try {
    return await work(channel);
  } finally {
    void closeQuietly(channel);
  }
}
