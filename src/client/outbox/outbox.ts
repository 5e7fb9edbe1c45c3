/**
 * An outbox stores events in the application's database, in the same transaction as its own data, and publishes them
 * afterwards. If the application dies in between, the next run publishes them; the server recognises by key what it
 * already has.
 */
import { errorOf } from "../../core/thrown.ts";
import type { Client } from "../client.ts";
import type { AnyEvents, EventOf } from "../publishing.ts";
import { randomKey } from "../random-key.ts";
import { systemTime, type Time } from "../time.ts";
import type { OutboxStore, ParkedEntry } from "./outbox-store.ts";
import { OutboxPublisher } from "./outbox-publisher.ts";

export interface OutboxOptions<Transaction, Put extends void | Promise<void>> {
  readonly client: Pick<Client<never>, "call">;
  readonly store: OutboxStore<Transaction, Put>;
  /** Interval to poll for events from other processes; default 1,000. */
  readonly pollMs?: number;
  /** Transient failures: the server is unavailable, the database is locked. The outbox retries automatically. */
  readonly onError?: (error: unknown) => void;
  /** The server will never accept this event unchanged. It waits for `requeue` or `discard`. */
  readonly onParked?: (entry: ParkedEntry) => void;
  /** For tests. */
  readonly time?: Time;
}

const pollMsDefault = 1_000;
const failureDelayMsMin = 100;
const parkedLimitDefault = 100;

/** `start` publishes in the background until `stop`; `flush` publishes the events that are waiting now. */
export class Outbox<
  Events extends object = AnyEvents,
  Transaction = undefined,
  Put extends void | Promise<void> = void | Promise<void>,
> {
  readonly #store: OutboxStore<Transaction, Put>;
  readonly #options: OutboxOptions<Transaction, Put>;
  readonly #publisher: OutboxPublisher;
  readonly #time: Time;
  #running: { readonly stop: AbortController; readonly done: Promise<void> } | null = null;
  #wake = new AbortController();

  constructor(options: OutboxOptions<Transaction, Put>) {
    this.#options = options;
    this.#store = options.store;
    this.#time = options.time ?? systemTime;
    this.#publisher = new OutboxPublisher({ ...options, time: this.#time });
  }

  /**
   * Stores an event and returns its idempotency key. If a transaction is given, the event is part of it; call `wake`
   * after the commit, otherwise the next poll publishes it.
   */
  add(
    event: EventOf<Events>,
    ...[transaction]: undefined extends Transaction ? [] : [transaction?: Transaction]
  ): Put extends Promise<void> ? Promise<string> : string {
    const id = event.idempotency_key ?? randomKey();
    const text = JSON.stringify({
      ...event,
      idempotency_key: id,
      timestamp: event.timestamp ?? this.#timestamp(),
    });
    const put = this.#store.put({ id, event: text }, transaction);
    const added =
      put instanceof Promise ? put.then(() => this.#added(id, transaction)) : this.#added(id, transaction);
    return added as Put extends Promise<void> ? Promise<string> : string;
  }

  /** Polls for events now. */
  wake(): void {
    this.#wake.abort();
  }

  /** Publishes in the background, including events from earlier runs of the program. Calling it again has no effect. */
  start(): void {
    if (this.#running !== null) return;
    const stop = new AbortController();
    this.#running = { stop, done: this.#run(stop.signal) };
  }

  /** Resolves when nothing is in flight. Waiting events stay. */
  async stop(): Promise<void> {
    const running = this.#running;
    running?.stop.abort();
    await running?.done;
    if (this.#running === running) this.#running = null;
  }

  /**
   * Publishes the events that are waiting now, and returns how many there were. Rejects if the server cannot be
   * reached.
   */
  async flush(): Promise<number> {
    for (let published = 0; ; ) {
      const round = await this.#publisher.publishSome();
      if (round.error !== null) throw errorOf(round.error);
      published += round.published;
      if (round.claimed === 0) return published;
    }
  }

  counts(): Promise<{ readonly waiting: number; readonly parked: number }> {
    return this.#store.counts();
  }

  /** Events that the server refused permanently, oldest first. */
  parked({ limit = parkedLimitDefault }: { readonly limit?: number } = {}): Promise<readonly ParkedEntry[]> {
    return this.#store.listParked({ limit });
  }

  /** Publishes a parked event again, with `event` as its new content if given. False if no parked event has this id. */
  async requeue(id: string, event?: EventOf<Events>): Promise<boolean> {
    const text = event === undefined ? null : JSON.stringify({ ...event, idempotency_key: id });
    const isThere = await this.#store.requeue({ id, event: text });
    this.wake();
    return isThere;
  }

  discard(id: string): Promise<boolean> {
    return this.#store.discard({ id });
  }

  #timestamp(): string {
    return new Date(this.#time.now()).toISOString();
  }

  #added(id: string, transaction: Transaction | undefined): string {
    if (transaction === undefined) this.wake();
    return id;
  }

  async #run(stopped: AbortSignal): Promise<void> {
    for (let failures = 0; !stopped.aborted; ) {
      this.#wake = new AbortController();
      const round = await this.#publisher.publishSome(stopped);
      if (round.error !== null && !stopped.aborted) this.#options.onError?.(round.error);
      failures = round.error === null ? 0 : failures + 1;
      if (round.error === null && round.claimed > 0) continue;
      const pollMs = this.#options.pollMs ?? pollMsDefault;
      // After a failure, wait even if new events are stored.
      const delayMs =
        failures === 0 ? pollMs : Math.min(pollMs, failureDelayMsMin * 2 ** Math.min(failures, 10));
      const ends = failures === 0 ? AbortSignal.any([stopped, this.#wake.signal]) : stopped;
      await this.#time.sleep(delayMs, ends).catch(() => undefined);
    }
  }
}
