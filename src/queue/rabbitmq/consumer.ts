import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import { priorities, type Priority } from "../../domain/delivery.ts";
import { messageOf } from "../../domain/thrown.ts";
import { type Clock, type Timer, withDeadline } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { WorkConsumer, WorkHint } from "../../ports/work-queue.ts";
import { closeQuietly, KeptChannel } from "./kept-channel.ts";
import { decodeLanes } from "./message.ts";
import type { Publisher, QueueCounters } from "./publisher.ts";
import type { Topology } from "./topology.ts";

export interface ConsumerOptions {
  readonly topology: Topology;
  readonly publisher: Publisher;
  readonly counters: QueueCounters;
  /**
   * Maximum number of unacknowledged hints, per priority. The limits act as weights: high priority overtakes, and no
   * priority starves (WDS-177).
   */
  readonly prefetch: Readonly<Record<Priority, number>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Delay before a hint for another worker is requeued. Without it, a hint that no worker accepts would loop rapidly. */
const passOnMsMin = 100;
const passOnMsMax = 250;
/** Time limit for each step of closing, except waiting for our consumer. */
const goodbyeMsMax = 1_000;
/** Time limit for restoring deleted queues and their consumers. */
const restoreMsMax = 10_000;

/**
 * Consumes hints of one pool over one channel, with a consumer for each priority. One channel is enough because the
 * broker counts unacknowledged messages per consumer, and one channel failure is easier to handle than three.
 */
export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #consumer: WorkConsumer;
  readonly #kept: KeptChannel<Channel>;
  /** Running calls of our consumer callback. Closing waits for them without a limit, because they are our own work. */
  readonly #asked = new Set<Promise<unknown>>();
  /**
   * Running calls of our consumer callback, including the acknowledgement to the broker. Closing waits only briefly for
   * these.
   */
  readonly #underWay = new Set<Promise<void>>();
  readonly #pauses = new Set<() => void>();
  /** Consumers at the broker, keyed by priority, including those of a channel that is still being set up. */
  readonly #atBroker = new Map<Priority, ConsumerAtBroker>();
  /** Messages that arrived after `stop` was called but before the broker cancelled the consumer of their priority. */
  readonly #late = new Map<Priority, (() => void)[]>();
  /** Priorities whose consumer was cancelled by the broker and not replaced yet. */
  readonly #deleted = new Set<Priority>();
  /** The channel whose deleted queues are being declared again. */
  #restoring: Channel | null = null;
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

  /** Whether this consumer should consume hints but cannot. */
  get isTroubled(): boolean {
    return this.#kept.isTroubled;
  }

  async attach(connection: ChannelModel): Promise<void> {
    if (this.#stopped === null) await this.#kept.attach(connection);
  }

  detach(): void {
    this.#kept.detach();
  }

  /**
   * Stops passing on hints, and resolves when the hints that were passed on have been handled. Safe to call more than
   * once.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    // Our consumer may call `stop` within its handler, before the call is recorded in `#asked`.
    await Promise.resolve();
    const cancelled = Promise.all(priorities.map((priority) => this.#cancel(priority)));
    await withDeadline(cancelled, { timeoutMs: goodbyeMsMax, clock: this.#options.clock });
    while (this.#asked.size > 0) await Promise.allSettled(this.#asked);
    for (const end of this.#pauses) end();
    // Do not wait long for a broker that does not confirm: it redelivers unacknowledged messages to other workers.
    const answered = Promise.all(this.#underWay);
    await withDeadline(answered, { timeoutMs: goodbyeMsMax, clock: this.#options.clock });
    const open = this.#kept.detach();
    if (open === null) return;
    // Once the broker has closed the channel, it has read all acknowledgements on it.
    await withDeadline(closeQuietly(open), { timeoutMs: goodbyeMsMax, clock: this.#options.clock });
  }

  /** Cancels the consumer of a priority, then returns the messages that arrived in between. Never rejects. */
  async #cancel(priority: Priority): Promise<void> {
    const consumer = this.#atBroker.get(priority);
    if (consumer === undefined) return;
    this.#atBroker.delete(priority);
    try {
      await consumer.channel.cancel(consumer.tag);
    } catch {
      // A closed channel has returned all its messages.
    }
    for (const giveBack of this.#late.get(priority)?.splice(0) ?? []) giveBack();
  }

  async #begin(channel: Channel): Promise<void> {
    this.#atBroker.clear();
    this.#late.clear();
    this.#deleted.clear();
    const { topology } = this.#options;
    // Set even if the first attempt fails: a queue from which the channel consumed may have been deleted.
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    // The channel may have closed because a queue was deleted.
    topology.forget(this.#consumer.pool);
    await topology.ensure(this.#consumer.pool);
    for (const priority of priorities) {
      if (this.#stopped === null) await this.#take(channel, priority);
    }
    if (!isFirst) this.#consumer.missed();
  }

  async #take(channel: Channel, priority: Priority): Promise<void> {
    const { topology, prefetch } = this.#options;
    const { pool } = this.#consumer;
    // This limit applies separately to each consumer that is created later. Later versions of RabbitMQ refuse a limit
    // for the whole channel.
    await channel.prefetch(prefetch[priority]);
    const { consumerTag } = await channel.consume(topology.workQueue(pool, priority), (message) => {
      if (message === null) this.#lostQueue(channel, priority);
      else this.#received(channel, { message, priority });
    });
    this.#atBroker.set(priority, { channel, tag: consumerTag });
    // `stop` was called during the set-up, so it did not cancel this consumer.
    if (this.#stopped !== null) await this.#cancel(priority);
  }

  /**
   * Handles a consumer that the broker cancelled. Either its queue was deleted, usually with others, or (from 4.3 on) a
   * hint was unacknowledged for too long; earlier versions close the channel in that case.
   */
  #lostQueue(channel: Channel, priority: Priority): void {
    if (this.#stopped !== null) return;
    const { topology, clock, log } = this.#options;
    log.warn(
      { queue: topology.workQueue(this.#consumer.pool, priority) },
      "RabbitMQ ended a consumer, because its queue was deleted or a hint was in hand for too long; starting again",
    );
    this.#deleted.add(priority);
    if (this.#restoring === channel) return;
    this.#restoring = channel;
    clock.defer(() => void this.#restore(channel));
  }

  async #restore(channel: Channel): Promise<void> {
    const { clock } = this.#options;
    const since = clock.monotonicMs();
    try {
      const restored = this.#takeDeleted(channel).then(() => true);
      // If a queue is deleted while a consumer is being created, the broker may never respond.
      const isRestored = await withDeadline(restored, { timeoutMs: restoreMsMax, clock });
      if (isRestored === null) throw new Error("RabbitMQ does not respond in time");
      this.#consumer.missed();
    } catch (error) {
      // Replace the channel and everything that belongs to it.
      const reason = messageOf(error);
      if (this.#kept.isCurrent(channel)) this.#kept.giveUp(reason, since);
      void closeQuietly(channel);
    } finally {
      if (this.#restoring === channel) this.#restoring = null;
    }
  }

  async #takeDeleted(channel: Channel): Promise<void> {
    const { topology } = this.#options;
    const { pool } = this.#consumer;
    await topology.declareCommon(channel);
    for (let [priority] = this.#deleted; priority !== undefined; [priority] = this.#deleted) {
      if (!this.#kept.isCurrent(channel)) throw new Error("replaced by another channel");
      this.#deleted.delete(priority);
      topology.forget(pool);
      await topology.ensure(pool);
      await this.#take(channel, priority);
    }
  }

  #received(channel: Channel, received: Received): void {
    if (this.#stopped !== null) return this.#hold(channel, received);
    const handling = this.#handle(channel, received).finally(() => this.#underWay.delete(handling));
    this.#underWay.add(handling);
  }

  /**
   * Keeps late messages until the consumer has been cancelled. If they were returned immediately, the broker would
   * redeliver them repeatedly and finally park them.
   */
  #hold(channel: Channel, { message, priority }: Received): void {
    const held = this.#late.get(priority) ?? [];
    held.push(() => this.#giveBack(channel, message));
    this.#late.set(priority, held);
  }

  async #handle(channel: Channel, { message, priority }: Received): Promise<void> {
    const { log } = this.#options;
    const decoded = decodeLanes(message.content);
    const lane = decoded.kind === "lanes" && decoded.lanes.length === 1 ? decoded.lanes[0] : undefined;
    if (lane === undefined) {
      const reason = decoded.kind === "unreadable" ? decoded.reason : "more than one lane";
      return this.#park(channel, message, reason);
    }
    const hint = { lane, pool: this.#consumer.pool, priority };
    try {
      if ((await this.#ask(hint)) === "done") this.#done(channel, message);
      else await this.#passOn(channel, message, hint);
    } catch (error) {
      log.error({ error, lane }, "handling a hint failed unexpectedly");
      this.#fail(channel, message);
    }
  }

  async #ask(hint: WorkHint): Promise<"done" | "pass_on"> {
    const asked = this.#consumer.handle(hint);
    this.#asked.add(asked);
    try {
      return await asked;
    } finally {
      this.#asked.delete(asked);
    }
  }

  /** Publish the new hint before acknowledging the old one: a crash in between leaves two hints instead of none. */
  async #passOn(channel: Channel, message: ConsumeMessage, hint: WorkHint): Promise<void> {
    const { publisher, random } = this.#options;
    await this.#pause(passOnMsMin + random.uniform() * (passOnMsMax - passOnMsMin));
    if (!this.#kept.isCurrent(channel)) return;
    if (await publisher.sendAgain(hint)) this.#done(channel, message);
    else this.#fail(channel, message);
  }

  async #park(channel: Channel, message: ConsumeMessage, reason: string): Promise<void> {
    const { publisher, counters, log } = this.#options;
    const { routingKey } = message.fields;
    log.warn({ queue: routingKey, reason, bytes: message.content.length }, "parked an unreadable message");
    if (await publisher.park(message, reason)) {
      counters.parked += 1;
      this.#done(channel, message);
    } else {
      this.#fail(channel, message);
    }
  }

  #done(channel: Channel, message: ConsumeMessage): void {
    ifOpen(() => channel.ack(message));
  }

  /** Returns a message that was not handled. Later versions of RabbitMQ do not count this as a failed delivery. */
  #giveBack(channel: Channel, message: ConsumeMessage): void {
    ifOpen(() => channel.nack(message, false, true));
  }

  /**
   * Returns a message whose handling failed. All versions of RabbitMQ count this, and park messages that fail too
   * often.
   */
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

interface ConsumerAtBroker {
  readonly channel: Channel;
  readonly tag: string;
}

interface Received {
  readonly message: ConsumeMessage;
  readonly priority: Priority;
}

/** A closed channel needs no acknowledgement: the broker has requeued unacknowledged messages. */
function ifOpen(answer: () => void): void {
  try {
    answer();
  } catch {
    // The channel is closed.
  }
}
