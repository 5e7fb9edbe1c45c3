import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import { priorities, type Priority } from "../../../core/delivery.ts";
import type { Clock, Timer } from "../../../ports/clock.ts";
import type { Random } from "../../../ports/random.ts";
import type { Logger } from "../../../ports/telemetry.ts";
import type { WorkConsumer, WorkNotice } from "../../../ports/work-queue.ts";
import { closeQuietly, KeptChannel } from "./kept-channel.ts";
import { decodeLanes } from "./message.ts";
import type { Publisher } from "./publisher.ts";
import type { Tally } from "./tally.ts";
import { settlesWithin } from "./time-limit.ts";
import type { Topology } from "./topology.ts";

export interface ConsumerOptions {
  readonly topology: Topology;
  readonly publisher: Publisher;
  readonly tally: Tally;
  /** Notices in hand at most. The proportion is the weight: high overtakes, and none starves (WDS-177). */
  readonly prefetch: Readonly<Record<Priority, number>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Before a notice that is not for us goes to the end of its queue, so that one nobody wants does not race in circles. */
const passOnMsMin = 100;
const passOnMsMax = 250;
/** For each thing that closing waits for, beside our consumer. */
const goodbyeMsMax = 1_000;

/**
 * Takes notices of one pool: one channel with a consumer for each priority. One channel is enough, because the broker
 * counts unacknowledged messages for each consumer, and its death is one thing to handle instead of three.
 */
export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #consumer: WorkConsumer;
  readonly #kept: KeptChannel<Channel>;
  /** What our consumer is asked now. Closing waits for it however long it takes: it is our own work. */
  readonly #asked = new Set<Promise<unknown>>();
  /** The same, and what is told to the broker after it. For that closing waits a moment only. */
  readonly #underWay = new Set<Promise<void>>();
  readonly #pauses = new Set<() => void>();
  /** Tags of consumers by priority, on the channel that is open. */
  readonly #tags = new Map<Priority, string>();
  /** Priorities whose consumer the broker has ended and that have no new one yet. */
  readonly #deleted = new Set<Priority>();
  #isRestoring = false;
  #hasBegun = false;
  #stopped: Promise<void> | null = null;

  constructor(consumer: WorkConsumer, options: ConsumerOptions) {
    this.#options = options;
    this.#consumer = consumer;
    this.#kept = new KeptChannel({
      ...options,
      name: "consumer",
      open: (connection) => connection.createChannel(),
      setUp: (channel) => this.#begin(channel),
    });
  }

  /** It should take notices and cannot. */
  get isTroubled(): boolean {
    return this.#kept.isTroubled;
  }

  async attach(connection: ChannelModel): Promise<void> {
    if (this.#stopped === null) await this.#kept.attach(connection);
  }

  detach(): void {
    this.#kept.detach();
  }

  /** Nothing is handed over after this call, and what is being handled is when it resolves. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const channel = this.#kept.channel;
    if (channel !== null) {
      const cancelled = Promise.allSettled([...this.#tags.values()].map((tag) => channel.cancel(tag)));
      await settlesWithin(cancelled, { timeoutMs: goodbyeMsMax, clock: this.#options.clock });
    }
    while (this.#asked.size > 0) await Promise.allSettled(this.#asked);
    for (const end of this.#pauses) end();
    // A broker that confirms nothing does not keep us: what is not acknowledged goes to others.
    const answered = Promise.all(this.#underWay);
    await settlesWithin(answered, { timeoutMs: goodbyeMsMax, clock: this.#options.clock });
    const open = this.#kept.detach();
    if (open === null) return;
    // When the broker has closed it, it has read what was acknowledged on it.
    await settlesWithin(closeQuietly(open), { timeoutMs: goodbyeMsMax, clock: this.#options.clock });
  }

  async #begin(channel: Channel): Promise<void> {
    this.#tags.clear();
    this.#deleted.clear();
    const { topology } = this.#options;
    // It may be that the channel closed because a queue is gone.
    topology.forget(this.#consumer.pool);
    await topology.ensure(this.#consumer.pool);
    for (const priority of priorities) await this.#take(channel, priority);
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    if (!isFirst) this.#consumer.missed();
  }

  async #take(channel: Channel, priority: Priority): Promise<void> {
    const { topology, prefetch } = this.#options;
    const { pool } = this.#consumer;
    // Counts for the consumers that follow it, each for itself; a common bound is what later versions refuse.
    await channel.prefetch(prefetch[priority]);
    const { consumerTag } = await channel.consume(topology.workQueue(pool, priority), (message) => {
      if (message === null) this.#lostQueue(channel, priority);
      else this.#received(channel, { message, priority });
    });
    this.#tags.set(priority, consumerTag);
  }

  /**
   * The broker ended a consumer: its queue was deleted, and seldom only one of them is; or, from 4.3 on, a notice was in
   * hand for too long, for which earlier versions close the channel.
   */
  #lostQueue(channel: Channel, priority: Priority): void {
    if (this.#stopped !== null) return;
    const { topology, clock, log } = this.#options;
    log.warn(
      { queue: topology.workQueue(this.#consumer.pool, priority) },
      "RabbitMQ ended a consumer, because its queue was deleted or a notice was in hand for too long; beginning again",
    );
    this.#deleted.add(priority);
    if (this.#isRestoring) return;
    this.#isRestoring = true;
    clock.defer(() => void this.#restore(channel));
  }

  async #restore(channel: Channel): Promise<void> {
    const { topology } = this.#options;
    const { pool } = this.#consumer;
    try {
      await topology.declareCommon(channel);
      for (let [priority] = this.#deleted; priority !== undefined; [priority] = this.#deleted) {
        this.#deleted.delete(priority);
        topology.forget(pool);
        await topology.ensure(pool);
        await this.#take(channel, priority);
      }
      this.#consumer.missed();
    } catch {
      // A channel that did not take it is opened anew, with all that belongs to it.
      await closeQuietly(channel);
    } finally {
      this.#isRestoring = false;
    }
  }

  #received(channel: Channel, received: Received): void {
    if (this.#stopped !== null) return this.#giveBack(channel, received.message);
    const handling = this.#handle(channel, received).finally(() => this.#underWay.delete(handling));
    this.#underWay.add(handling);
  }

  async #handle(channel: Channel, { message, priority }: Received): Promise<void> {
    const { log } = this.#options;
    const decoded = decodeLanes(message.content);
    const lane = decoded.kind === "lanes" && decoded.lanes.length === 1 ? decoded.lanes[0] : undefined;
    if (lane === undefined) {
      const reason = decoded.kind === "unreadable" ? decoded.reason : "more than one lane";
      return this.#park(channel, { message, reason });
    }
    const notice = { lane, pool: this.#consumer.pool, priority };
    try {
      if ((await this.#ask(notice)) === "done") this.#done(channel, message);
      else await this.#passOn(channel, { message, notice });
    } catch (error) {
      log.error({ error, lane }, "handling a notice failed, which it must not");
      this.#fail(channel, message);
    }
  }

  async #ask(notice: WorkNotice): Promise<"done" | "pass_on"> {
    const asked = this.#consumer.handle(notice);
    this.#asked.add(asked);
    try {
      return await asked;
    } finally {
      this.#asked.delete(asked);
    }
  }

  /** The new one before the end of the old one: a crash in between leaves two, not none. */
  async #passOn(
    channel: Channel,
    { message, notice }: { readonly message: ConsumeMessage; readonly notice: WorkNotice },
  ): Promise<void> {
    const { publisher, random } = this.#options;
    await this.#pause(passOnMsMin + random.uniform() * (passOnMsMax - passOnMsMin));
    if (!this.#kept.isCurrent(channel)) return;
    if (await publisher.sendAgain(notice)) this.#done(channel, message);
    else this.#fail(channel, message);
  }

  async #park(
    channel: Channel,
    { message, reason }: { readonly message: ConsumeMessage; readonly reason: string },
  ): Promise<void> {
    const { publisher, tally, log } = this.#options;
    const { routingKey } = message.fields;
    log.warn(
      { queue: routingKey, reason, bytes: message.content.length },
      "a message cannot be read and is parked",
    );
    if (await publisher.park(message, reason)) {
      tally.parked += 1;
      this.#done(channel, message);
    } else {
      this.#fail(channel, message);
    }
  }

  #done(channel: Channel, message: ConsumeMessage): void {
    ifOpen(() => channel.ack(message));
  }

  /** It was not looked at, which later versions do not count as a failure. */
  #giveBack(channel: Channel, message: ConsumeMessage): void {
    ifOpen(() => channel.nack(message, false, true));
  }

  /** It failed. The broker counts that, in all versions, and parks what fails too often. */
  #fail(channel: Channel, message: ConsumeMessage): void {
    ifOpen(() => channel.reject(message, true));
  }

  #pause(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<null>();
    let timer: Timer | null = null;
    const end = (): void => {
      timer?.cancel();
      this.#pauses.delete(end);
      resolve(null);
    };
    if (this.#stopped !== null) return Promise.resolve();
    this.#pauses.add(end);
    timer = this.#options.clock.schedule(delayMs, end);
    return promise.then(() => undefined);
  }
}

interface Received {
  readonly message: ConsumeMessage;
  readonly priority: Priority;
}

/** On a channel that is closed there is nothing to answer: the broker has taken back what was not acknowledged. */
function ifOpen(answer: () => void): void {
  try {
    answer();
  } catch {
    // Closed.
  }
}
