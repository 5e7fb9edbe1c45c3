import { systemClock } from "../../../src/system/clock.ts";
import { priorities, type Priority } from "../../../src/domain/delivery.ts";
import type { LaneKey } from "../../../src/domain/webhook.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import {
  type WorkConsumer,
  type WorkHint,
  type WorkQueue,
  type WorkQueueDepth,
  WorkQueueUnavailableError,
} from "../../../src/ports/work-queue.ts";

export interface BrokerOptions {
  /** Delay before a hint that was passed on is requeued. */
  readonly clock?: Clock;
  readonly passOnMs?: number;
  /** Maximum number of unfinished hints per consumer. */
  readonly inHandMax?: Readonly<Record<Priority, number>>;
  /** A hint is parked when its consumers were lost more often than this. */
  readonly lossesMax?: number;
}

/**
 * A broker in memory that several work queues share, for tests of the code that uses the port:
 *
 *   const broker = new Broker();
 *   const api = broker.open();
 *   const worker = broker.open();
 *   worker.consume({ pool: "default", handle, told, missed });
 *   api.send([hint]);
 *   broker.disconnect(worker);    its unhandled hints go to other consumers; without an argument, disconnects all
 *   broker.reconnect(worker);     it consumes again and `missed` is called
 *   broker.lose();                all hints are lost, and `missed` is called for all consumers
 *
 * Delivers hints in microtasks, so a test with a manual clock needs no real time.
 */
export class Broker {
  readonly #options: Required<BrokerOptions>;
  readonly #queues = new Map<string, Held[]>();
  readonly #members = new Set<Member>();
  #parked = 0;
  #isPumping = false;

  constructor(options: BrokerOptions = {}) {
    this.#options = {
      clock: systemClock,
      passOnMs: 20,
      inHandMax: { high: 32, normal: 16, low: 8 },
      lossesMax: 10,
      ...options,
    };
  }

  /** Returns the work queue of another process that uses this broker. */
  open(): WorkQueue {
    const member = new Member({
      options: this.#options,
      put: (held, end) => this.#put(held, end),
      pump: () => this.#pump(),
      notify: (worker, lanes) => this.#notify(worker, lanes),
      depth: (pools) => this.#depth(pools),
      leave: (leaving) => this.#members.delete(leaving),
    });
    this.#members.add(member);
    return member;
  }

  /** Deletes all hints, including unfinished ones, as if the queues had been deleted. */
  lose(): void {
    this.#queues.clear();
    this.#parked = 0;
    for (const member of this.#members) member.lose();
  }

  disconnect(queue?: WorkQueue): void {
    for (const member of this.#chosen(queue)) member.disconnect();
  }

  reconnect(queue?: WorkQueue): void {
    for (const member of this.#chosen(queue)) member.reconnect();
  }

  /** Hints of all pools that were not delivered yet, in order. */
  get waiting(): readonly WorkHint[] {
    return [...this.#queues.values()].flatMap((queue) => queue.map(({ hint }) => hint));
  }

  #chosen(queue: WorkQueue | undefined): readonly Member[] {
    return [...this.#members].filter((member) => queue === undefined || member === queue);
  }

  #put(held: Held, end: "head" | "tail"): void {
    if (held.losses > this.#options.lossesMax) {
      this.#parked += 1;
      return;
    }
    const queue = this.#queue(held.hint);
    if (end === "head") queue.unshift(held);
    else queue.push(held);
    this.#pump();
  }

  #queue({ pool, priority }: Pick<WorkHint, "pool" | "priority">): Held[] {
    const name = `${pool}.${priority}`;
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    return queue;
  }

  /** Schedules the delivery of waiting hints to the consumers, round-robin. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    queueMicrotask(() => {
      this.#isPumping = false;
      for (const priority of priorities) {
        for (const queue of [...this.#queues.values()]) this.#handOver(queue, priority);
      }
    });
  }

  #handOver(queue: Held[], priority: Priority): void {
    for (;;) {
      const [held] = queue;
      if (held === undefined || held.hint.priority !== priority) return;
      const receiver = [...this.#members].find((member) => member.canTake(held.hint));
      if (receiver === undefined) return;
      queue.shift();
      this.#members.delete(receiver);
      this.#members.add(receiver);
      receiver.take(held);
    }
  }

  #notify(worker: number, lanes: readonly LaneKey[]): void {
    queueMicrotask(() => {
      for (const member of this.#members) member.hear(worker, lanes);
    });
  }

  #depth(pools: ReadonlySet<string>): WorkQueueDepth {
    return {
      waiting: [...pools].flatMap((pool) =>
        priorities.map((priority) => ({ pool, priority, hints: this.#queue({ pool, priority }).length })),
      ),
      parked: this.#parked,
    };
  }
}

interface Held {
  readonly hint: WorkHint;
  /** How many times a consumer was lost while it handled the hint. */
  readonly losses: number;
}

/** The functions of the broker that its members use. */
interface BrokerSide {
  readonly options: Required<BrokerOptions>;
  readonly put: (held: Held, end: "head" | "tail") => void;
  readonly pump: () => void;
  readonly notify: (worker: number, lanes: readonly LaneKey[]) => void;
  readonly depth: (pools: ReadonlySet<string>) => WorkQueueDepth;
  readonly leave: (member: Member) => void;
}

class Member implements WorkQueue {
  readonly #broker: BrokerSide;
  readonly #pools = new Set<string>();
  /** Hints that the broker delivered and that are not yet acknowledged. */
  readonly #inHand = new Set<Held>();
  /** Running handlers, including those whose hints the broker has since delivered to other consumers. */
  readonly #handling = new Set<Promise<void>>();
  #consumer: WorkConsumer | null = null;
  #worker: number | null = null;
  #isConnected = true;
  #isStopping = false;
  #isClosed = false;

  constructor(broker: BrokerSide) {
    this.#broker = broker;
  }

  get isConnected(): boolean {
    return this.#isConnected && !this.#isClosed;
  }

  send(hints: readonly WorkHint[]): boolean {
    if (!this.isConnected) return false;
    for (const hint of hints) {
      this.#pools.add(hint.pool);
      this.#broker.put({ hint, losses: 0 }, "tail");
    }
    return true;
  }

  notify(worker: number, lanes: readonly LaneKey[]): boolean {
    if (!this.isConnected) return false;
    this.#broker.notify(worker, lanes);
    return true;
  }

  consume(consumer: WorkConsumer): void {
    if (this.#consumer !== null) throw new Error("this queue has a consumer");
    this.#consumer = consumer;
    this.#pools.add(consumer.pool);
    this.#broker.pump();
  }

  listenAs(worker: number | null): void {
    this.#worker = worker;
  }

  depth(): Promise<WorkQueueDepth> {
    if (!this.isConnected) return Promise.reject(new WorkQueueUnavailableError("not connected"));
    return Promise.resolve(this.#broker.depth(this.#pools));
  }

  async stopConsuming(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#handling);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.stopConsuming();
    this.#broker.leave(this);
  }

  canTake({ pool, priority }: WorkHint): boolean {
    if (!this.isConnected || this.#isStopping || this.#consumer?.pool !== pool) return false;
    const inHand = [...this.#inHand].filter(({ hint }) => hint.priority === priority).length;
    return inHand < this.#broker.options.inHandMax[priority];
  }

  take(held: Held): void {
    this.#inHand.add(held);
    const handling = this.#handle(held).finally(() => this.#handling.delete(handling));
    this.#handling.add(handling);
  }

  hear(worker: number, lanes: readonly LaneKey[]): void {
    if (this.isConnected && this.#worker === worker) this.#consumer?.notified(lanes);
  }

  lose(): void {
    this.#inHand.clear();
    if (this.isConnected) this.#consumer?.missed();
  }

  disconnect(): void {
    this.#isConnected = false;
    const unhandled = [...this.#inHand].toReversed();
    this.#inHand.clear();
    for (const { hint, losses } of unhandled) this.#broker.put({ hint, losses: losses + 1 }, "head");
  }

  reconnect(): void {
    if (this.#isConnected || this.#isClosed) return;
    this.#isConnected = true;
    this.#broker.pump();
    this.#consumer?.missed();
  }

  async #handle(held: Held): Promise<void> {
    const answer = await this.#consumer?.handle(held.hint);
    if (answer === "pass_on" && this.#inHand.has(held) && !this.#isStopping) await this.#pause();
    if (!this.#inHand.delete(held)) return;
    if (answer === "pass_on") this.#broker.put({ hint: held.hint, losses: 0 }, "tail");
    this.#broker.pump();
  }

  #pause(): Promise<void> {
    const { clock, passOnMs } = this.#broker.options;
    return new Promise((resolve) => clock.schedule(passOnMs, resolve));
  }
}
