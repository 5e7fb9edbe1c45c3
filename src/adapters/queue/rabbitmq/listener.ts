import type { Channel, ChannelModel } from "amqplib";
import type { LaneKey } from "../../../core/webhook.ts";
import type { Clock } from "../../../ports/clock.ts";
import { Alarm } from "../../../ports/timing/alarm.ts";
import type { Random } from "../../../ports/random.ts";
import type { Logger } from "../../../ports/telemetry.ts";
import { closeQuietly, KeptChannel } from "./kept-channel.ts";
import { decodeLanes } from "./message.ts";
import type { Topology } from "./topology.ts";

export interface ListenerOptions {
  readonly topology: Topology;
  readonly notified: (lanes: readonly LaneKey[]) => void;
  readonly missed: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** How often to verify that notifications still arrive. While they do, the worker polls only every 30 s. */
const bindAgainMs = 10_000;

/** Receives notifications for this process's worker number, over a queue that is deleted with its consumer. */
export class Listener {
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
