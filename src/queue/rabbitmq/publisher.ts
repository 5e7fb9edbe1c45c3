import type { ConfirmChannel, Message, Options } from "amqplib";
import { priorities } from "../../domain/delivery.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import { Alarm, type Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { WorkHint } from "../../ports/work-queue.ts";
import { KeptChannel } from "./kept-channel.ts";
import { decodeLanes, encodeLanes, lanesPerMessageMax } from "./message.ts";
import type { Session } from "./session.ts";
import type { Topology } from "./topology.ts";

interface InFlightOptions {
  readonly clock: Clock;
  /**
   * Called when a message sent at `since` (monotonic ms) is not confirmed in time. Called again while it stays
   * unconfirmed.
   */
  readonly unanswered: (since: number) => void;
}

/** A quorum queue that elects a leader confirms again within seconds; one without a majority never does. */
const confirmMsMax = 10_000;

/**
 * Tracks sent messages that are not confirmed yet, and reports those that wait too long. One timer is enough, because
 * the oldest message waits longest. Time during which the broker blocks publishing does not count (`excuse`).
 */
export class InFlight {
  readonly #options: InFlightOptions;
  /** In the order in which they were sent. */
  readonly #messages = new Set<InFlightMessage>();
  #excusedAt = -Infinity;
  readonly #alarm: Alarm;

  constructor(options: InFlightOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
  }

  get size(): number {
    return this.#messages.size;
  }

  /** Returns the function to call with the broker's reply; only the first call counts. */
  add(answered: (isTaken: boolean) => void): (isTaken: boolean) => void {
    const message = { sentAt: this.#options.clock.monotonicMs(), answered };
    this.#messages.add(message);
    if (!this.#alarm.isSet) this.#watch(confirmMsMax);
    return (isTaken) => this.#settle(message, isTaken);
  }

  /** Restarts the time limit. Called when the broker had a reason not to confirm messages until now. */
  excuse(): void {
    this.#excusedAt = this.#options.clock.monotonicMs();
  }

  /** Fails all messages in flight, because no confirmation will arrive. */
  fail(): void {
    for (const message of [...this.#messages]) this.#settle(message, false);
  }

  #settle(message: InFlightMessage, isTaken: boolean): void {
    if (!this.#messages.delete(message)) return;
    if (this.#messages.size === 0) this.#alarm.cancel();
    message.answered(isTaken);
  }

  #watch(delayMs: number): void {
    const { clock, unanswered } = this.#options;
    this.#alarm.set(delayMs, () => {
      const [oldest] = this.#messages;
      if (oldest === undefined) return;
      const since = Math.max(oldest.sentAt, this.#excusedAt);
      const leftMs = since + confirmMsMax - clock.monotonicMs();
      this.#watch(leftMs > 0 ? leftMs : confirmMsMax);
      if (leftMs <= 0) unanswered(since);
    });
  }
}

interface InFlightMessage {
  readonly sentAt: number;
  readonly answered: (isTaken: boolean) => void;
}

/**
 * Hints waiting to be sent: until the end of the event loop turn, or until the queues of their pool are declared. A
 * lane is stored once per pool with its highest requested priority, because one hint makes a worker empty the lane.
 */
export class Outbox {
  readonly #pools = new Map<string, Map<string, WorkHint>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get pools(): readonly string[] {
    return [...this.#pools.keys()];
  }

  add(hint: WorkHint): void {
    const lanes = this.#pools.get(hint.pool) ?? new Map<string, WorkHint>();
    this.#pools.set(hint.pool, lanes);
    const { webhookId, ordering, eventType } = hint.lane;
    const key = `${webhookId} ${ordering} ${eventType ?? ""}`;
    const known = lanes.get(key);
    if (known === undefined) this.#size += 1;
    if (known === undefined || urgency(hint) < urgency(known)) lanes.set(key, hint);
  }

  /** Removes and returns the waiting hints of a pool. */
  take(pool: string): readonly WorkHint[] {
    const lanes = this.#pools.get(pool);
    if (lanes === undefined) return [];
    this.#pools.delete(pool);
    this.#size -= lanes.size;
    return [...lanes.values()];
  }

  /** Returns the number of removed hints. */
  clear(): number {
    const size = this.#size;
    this.#pools.clear();
    this.#size = 0;
    return size;
  }
}

function urgency({ priority }: WorkHint): number {
  return priorities.indexOf(priority);
}

/** Counts since the start, for metrics. */
export interface QueueCounters {
  /**
   * Hints and messages that were accepted and then lost, because the connection was lost or the broker refused them.
   */
  dropped: number;
  /** Unreadable messages that this process moved to the parked queue. */
  parked: number;
  /** Notifications to a worker number without a listener. */
  unheard: number;
}

interface PublisherOptions {
  readonly topology: Topology;
  readonly counters: QueueCounters;
  /** Maximum number of hints and messages that were sent and not confirmed, or that wait to be sent. */
  readonly unconfirmedMax: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Maximum number of bytes of an unreadable message to store. */
const parkedBytesMax = 65_536;
const contentType = "application/json";

/**
 * Sends over one channel with publisher confirms. The number of messages in flight is bounded. Beyond the bound, and
 * while the broker is unavailable or does not confirm, every call is refused immediately; so memory stays flat and callers
 * can use another path.
 *
 * A hint passes through the outbox (one turn), then is in flight, then confirmed. The broker also confirms messages for
 * which it found no queue, but returns them first (`mandatory`); then the queue is declared again.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #kept: KeptChannel<ConfirmChannel>;
  readonly #outbox = new Outbox();
  /** Prefix of this process's message ids, which identifies the origin of a parked message. */
  readonly #origin: string;
  #session: Session | null = null;
  #sequence = 0;
  readonly #inFlight: InFlight;
  #isFlushDue = false;
  #emptied: (() => void) | null = null;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#origin = Buffer.from(options.random.bytes(6)).toString("hex");
    this.#inFlight = new InFlight({ ...options, unanswered: (since) => this.#giveUp(since) });
    this.#kept = new KeptChannel({
      ...options,
      name: "publisher",
      open: (connection) => connection.createConfirmChannel(),
      setUp: async (channel) => {
        channel.on("return", (message) => this.#returned(message));
        await options.topology.declareCommon(channel);
      },
    });
  }

  get isReady(): boolean {
    return this.#kept.channel !== null;
  }

  /** Messages not confirmed by the broker, including those that wait to be sent. */
  get underWay(): number {
    return this.#inFlight.size + this.#outbox.size;
  }

  attach(session: Session): Promise<void> {
    this.#session = session;
    session.sending.on("unblocked", () => this.#inFlight.excuse());
    return this.#kept.attach(session.sending);
  }

  detach(): void {
    this.#session = null;
    this.#kept.detach();
    this.#inFlight.fail();
    this.#drop(this.#outbox.clear());
  }

  /** Accepts all hints or none. Hints for the same lane that are queued in the same event loop turn are merged. */
  send(hints: readonly WorkHint[]): boolean {
    const { topology, unconfirmedMax, clock } = this.#options;
    if (!this.isReady || this.underWay + hints.length > unconfirmedMax) return false;
    if (hints.some(({ pool }) => topology.isRefused(pool))) return false;
    for (const hint of hints) this.#outbox.add(hint);
    if (this.#isFlushDue) return true;
    this.#isFlushDue = true;
    clock.defer(() => this.#flush());
    return true;
  }

  notify(worker: number, lanes: readonly LaneKey[]): boolean {
    const messages = Math.ceil(lanes.length / lanesPerMessageMax);
    if (!this.isReady || this.underWay + messages > this.#options.unconfirmedMax) return false;
    for (let from = 0; from < lanes.length; from += lanesPerMessageMax) {
      this.#publish(
        this.#options.topology.notifyExchange,
        String(worker),
        encodeLanes(lanes.slice(from, from + lanesPerMessageMax)),
        { persistent: false },
        (isTaken) => this.#drop(isTaken ? 0 : 1),
      );
    }
    return true;
  }

  /**
   * Requeues the hint at the end of its queue. May exceed the bound, because the consumer then holds one hint fewer.
   */
  sendAgain(hint: WorkHint): Promise<boolean> {
    return new Promise((resolve) => this.#sendHint(hint, resolve));
  }

  /** Moves an unreadable message to the parked queue, where operators can inspect it. */
  park({ content, properties, fields }: Message, reason: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#publish(
        "",
        this.#options.topology.parkedQueue,
        content.subarray(0, parkedBytesMax),
        {
          persistent: true,
          contentType: "application/octet-stream",
          ...(typeof properties.messageId === "string" ? { correlationId: properties.messageId } : {}),
          headers: {
            "x-posthorn-reason": reason,
            "x-posthorn-queue": fields.routingKey,
            "x-posthorn-bytes": content.length,
          },
        },
        resolve,
      );
    });
  }

  /** Sends waiting hints and resolves when all are confirmed. The caller must limit the time. */
  async flushed(): Promise<void> {
    this.#flush();
    if (this.underWay === 0 || !this.isReady) return;
    const { promise, resolve } = Promise.withResolvers<null>();
    this.#emptied = () => resolve(null);
    await promise;
  }

  #flush(): void {
    this.#isFlushDue = false;
    if (!this.isReady) this.#drop(this.#outbox.clear());
    const { topology } = this.#options;
    for (const pool of this.#outbox.pools) {
      if (topology.isDeclared(pool)) {
        for (const hint of this.#outbox.take(pool)) {
          this.#sendHint(hint, (isTaken) => this.#drop(isTaken ? 0 : 1));
        }
      } else {
        topology.ensure(pool).then(
          () => this.#flush(),
          () => this.#drop(this.#outbox.take(pool).length),
        );
      }
    }
  }

  #sendHint(hint: WorkHint, onConfirm: (isTaken: boolean) => void): void {
    this.#publish(
      "",
      this.#options.topology.workQueue(hint.pool, hint.priority),
      encodeLanes([hint.lane]),
      { persistent: true },
      onConfirm,
    );
  }

  #publish(
    exchange: string,
    key: string,
    body: Buffer,
    options: Options.Publish,
    onConfirm: (isTaken: boolean) => void,
  ): void {
    const channel = this.#kept.channel;
    if (channel === null) return onConfirm(false);
    const confirmed = this.#inFlight.add((isTaken) => {
      onConfirm(isTaken);
      this.#checkEmpty();
    });
    const stamped = {
      contentType,
      messageId: this.#nextId(),
      timestamp: Math.floor(this.#options.clock.now() / 1_000),
      ...options,
      // The broker returns the message if the queue is missing.
      mandatory: true,
    };
    try {
      channel.publish(exchange, key, body, stamped, (error) => confirmed(error === null));
    } catch {
      // The channel is closing, and its event has not been emitted yet.
      confirmed(false);
    }
  }

  /**
   * Replaces the channel if messages stay unconfirmed although the broker does not block publishing. The queue may have
   * no leader: it then accepts messages without confirming them, and callers would wait.
   */
  #giveUp(since: number): void {
    if (this.#session?.isBlocked === true) return;
    this.#kept.giveUp("messages are not confirmed", since);
    this.#inFlight.fail();
  }

  #nextId(): string {
    this.#sequence += 1;
    return `${this.#origin}-${this.#sequence}`;
  }

  /** Handles a message that the broker could not route to a queue. The broker confirms such messages nevertheless. */
  #returned(message: Message): void {
    const { topology, counters, log } = this.#options;
    const { exchange, routingKey } = message.fields;
    if (exchange === topology.notifyExchange) {
      counters.unheard += 1;
      log.debug({ worker: routingKey }, "this worker has no listener");
      return;
    }
    const work = topology.workOf(routingKey);
    const decoded = decodeLanes(message.content);
    if (work === null || decoded.kind === "unreadable") return;
    // The queue was deleted: declare it again and resend the hint.
    if (topology.isDeclared(work.pool)) topology.forget(work.pool);
    for (const lane of decoded.lanes) this.#outbox.add({ lane, ...work });
    this.#options.clock.defer(() => this.#flush());
  }

  #drop(count: number): void {
    this.#options.counters.dropped += count;
    this.#checkEmpty();
  }

  #checkEmpty(): void {
    if (this.underWay === 0) this.#emptied?.();
  }
}
