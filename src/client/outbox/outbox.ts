import { backoffMs } from "../../domain/retry-schedule.ts";
import { errorOf, messageOf } from "../../domain/thrown.ts";
import type { EventBatchResult, EventList, Problem } from "../api-types.ts";
import { randomKey, systemTime, type Time } from "../caller.ts";
import { ApiError } from "../client-error.ts";
import type { AnyEvents, Client, EventOf } from "../client.ts";
import type { OutboxEntry, OutboxStore, ParkedEntry } from "./outbox-store.ts";

interface PublisherOptions {
  readonly client: Pick<Client<never>, "call">;
  readonly store: Omit<OutboxStore, "put">;
  readonly time: Time;
  readonly onParked?: (entry: ParkedEntry) => void;
}

/** Result of one publishing round. */
interface Round {
  readonly claimed: number;
  readonly published: number;
  readonly error: unknown;
}

const entriesMax = 100;
/** The server accepts 16 MiB per call; the text may grow when it is encoded. */
const batchCharactersMax = 4 * 1_024 * 1_024;
/** How long other processes wait if a process dies in the middle of a batch. */
const leaseMs = 60_000;
/** Time limit for all calls of a batch, so that the lease outlives them. */
const batchMsMax = 40_000;
const releaseBounds = { delayMsMin: 1_000, delayMsMax: 30_000 };
/** The server keeps a key for 24 hours. An event that was first sent longer ago may already have been published. */
const keyLifeMs = 23 * 3_600_000;

/** Transient errors of a single event. All other errors are caused by the event itself. */
const passingCodes: ReadonlySet<string> = new Set([
  "event_in_progress",
  "rate_limited",
  "unavailable",
  "internal_error",
  "limit_reached",
]);

/** Publishes claimed events in batches, in order. */
class OutboxPublisher {
  readonly #options: PublisherOptions;
  #charactersMax = batchCharactersMax;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async publishSome(signal?: AbortSignal): Promise<Round> {
    const { store, time } = this.#options;
    const token = randomKey();
    const now = time.now();
    let claimed: readonly OutboxEntry[] = [];
    try {
      claimed = await store.claim(token, now, now + leaseMs, entriesMax);
      const deadline = time.deadline(batchMsMax);
      const ends = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
      const published = await this.#publishAll(claimed, { token, signal: ends });
      return { claimed: claimed.length, published, error: null };
    } catch (error) {
      return { claimed: claimed.length, published: 0, error };
    }
  }

  async #publishAll(entries: readonly OutboxEntry[], of: Claim): Promise<number> {
    let published = 0;
    let countMax = entries.length;
    for (let rest = entries; rest.length > 0; ) {
      const batch = beginning(rest.slice(0, countMax), this.#charactersMax);
      try {
        published += await this.#publishBatch(batch, of);
      } catch (error) {
        if (!isAboutEvents(error) || batch.length === 1) {
          await this.#release(rest, of, error);
          throw error;
        }
        // Halve the batch until the faulty event is alone. A batch that is too large would be refused again.
        countMax = Math.ceil(batch.length / 2);
        if (error.code === "payload_too_large") this.#charactersMax = Math.floor(lengthOf(batch) / 2);
        continue;
      }
      rest = rest.slice(batch.length);
      countMax = entries.length;
    }
    return published;
  }

  async #publishBatch(batch: readonly OutboxEntry[], of: Claim): Promise<number> {
    const { client, store } = this.#options;
    const { token, signal } = of;
    const known = await this.#knownAlready(batch, signal);
    const unknown = batch.filter(({ id }) => !known.has(id));
    const results = unknown.length === 0 ? [] : await this.#send(unknown, client, signal);
    const done: string[] = [...known];
    const waiting: OutboxEntry[] = [];
    for (const [index, entry] of unknown.entries()) {
      const result = results[index];
      if (result === undefined || ("error" in result && passingCodes.has(result.error.code)))
        waiting.push(entry);
      else if ("error" in result) await this.#park(entry, token, problemText(result.error));
      else done.push(entry.id);
    }
    await this.#surely(() => store.done(token, done));
    if (waiting.length > 0) await this.#release(waiting, of, null);
    return done.length;
  }

  async #send(
    batch: readonly OutboxEntry[],
    client: Pick<Client<never>, "call">,
    signal: AbortSignal,
  ): Promise<EventBatchResult["results"]> {
    const body = `{"events":[${batch.map(({ event }) => event).join(",")}]}`;
    try {
      const answer = await client.call<EventBatchResult>("POST", "/v1/events/batch", {
        raw: { contentType: "application/json", body },
        signal,
      });
      return answer.results;
    } catch (error) {
      // Refused although it is alone in the batch, so the event is at fault and is parked.
      if (isAboutEvents(error) && batch.length === 1) return [{ error: error.problem }];
      throw error;
    }
  }

  /**
   * Ids of events that the server already has, among those whose first attempt is so old that their keys may have
   * expired.
   */
  async #knownAlready(batch: readonly OutboxEntry[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { client, time } = this.#options;
    const known = new Set<string>();
    for (const { id, attempts, firstClaimedAt } of batch) {
      if (attempts === 1 || time.now() - firstClaimedAt < keyLifeMs) continue;
      const query = { idempotency_key: id, limit: 1 };
      try {
        const { data } = await client.call<EventList>("GET", "/v1/events", { query, signal });
        if (data.length > 0) known.add(id);
      } catch (error) {
        // A key that may only publish cannot look up events. In that case the events are published again, because a
        // duplicate is better than a lost event.
        if (!(error instanceof ApiError) || error.status !== 403) throw error;
      }
    }
    return known;
  }

  async #park(entry: OutboxEntry, token: string, error: string): Promise<void> {
    const { store, time, onParked } = this.#options;
    const { id, event } = entry;
    const parkedAt = time.now();
    await this.#surely(() => store.park(token, id, parkedAt, error));
    onParked?.({ id, event, error, parkedAt });
  }

  async #release(entries: readonly OutboxEntry[], { token }: Claim, cause: unknown): Promise<void> {
    const { store, time } = this.#options;
    const asked = cause instanceof ApiError ? (cause.retryAfterSeconds ?? 0) * 1_000 : 0;
    const attempts = Math.max(...entries.map((entry) => entry.attempts));
    const delayMs = Math.max(asked, backoffMs(releaseBounds, attempts - 1));
    const ids = entries.map(({ id }) => id);
    await this.#surely(() => store.release(token, ids, time.now() + delayMs));
  }

  /** The application may lock the database for a moment. If it stays locked, the lease expires. */
  async #surely(work: () => Promise<void>): Promise<void> {
    for (let pauses = 0; ; pauses += 1) {
      try {
        return await work();
      } catch (error) {
        if (pauses >= surePauses)
          throw new Error(`the outbox cannot be written: ${messageOf(error)}`, { cause: error });
        await this.#options.time.sleep(backoffMs({ delayMsMin: 10, delayMsMax: 1_000 }, pauses));
      }
    }
  }
}

const surePauses = 12;

/** Refusals caused by the events of a call; 401, 403, 404 and similar statuses are caused by the caller or the URL. */
const eventStatuses: ReadonlySet<number> = new Set([400, 413, 415, 422]);

function isAboutEvents(error: unknown): error is ApiError {
  return error instanceof ApiError && eventStatuses.has(error.status);
}

interface Claim {
  readonly token: string;
  readonly signal: AbortSignal;
}

function lengthOf(entries: readonly OutboxEntry[]): number {
  return entries.reduce((sum, { event }) => sum + event.length, 0);
}

/** As many entries as fit, but at least one. */
function beginning(entries: readonly OutboxEntry[], charactersMax: number): readonly OutboxEntry[] {
  let characters = 0;
  const end = entries.findIndex(
    ({ event }, index) => (characters += event.length) > charactersMax && index > 0,
  );
  return end === -1 ? entries : entries.slice(0, end);
}

function problemText({ code, detail, errors = [] }: Problem): string {
  return [`${code}: ${detail}`, ...errors.map(({ field, message }) => `${field} ${message}`)].join("; ");
}

// An outbox stores events in the application's database, in the same transaction as the application's data, and
// publishes them afterwards. If the application crashes before the events are published, its next run publishes them.
// The server recognises events that it already has by their keys.

export interface OutboxOptions<Transaction, Put extends void | Promise<void>> {
  readonly client: Pick<Client<never>, "call">;
  readonly store: OutboxStore<Transaction, Put>;
  /** Interval in milliseconds for polling for events from other processes; defaults to 1,000. */
  readonly pollMs?: number;
  /**
   * Called on transient failures: the server is unavailable, the database is locked. The outbox retries automatically.
   */
  readonly onError?: (error: unknown) => void;
  /** Called when the server permanently refuses an event. The event waits for `requeue` or `discard`. */
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
   * after the commit, or the event waits for the next poll.
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
    const put = this.#store.put(id, text, transaction);
    const added =
      put instanceof Promise ? put.then(() => this.#added(id, transaction)) : this.#added(id, transaction);
    return added as Put extends Promise<void> ? Promise<string> : string;
  }

  /** Polls for events immediately. */
  wake(): void {
    this.#wake.abort();
  }

  /** Publishes in the background, including events from earlier runs of the program. Calling it again has no effect. */
  start(): void {
    if (this.#running !== null) return;
    const stop = new AbortController();
    this.#running = { stop, done: this.#run(stop.signal) };
  }

  /** Stops publishing and resolves when nothing is in flight. Waiting events stay in the database. */
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
    return this.#store.listParked(limit);
  }

  /**
   * Publishes a parked event again, with `event` as its new content if given. Returns false if no parked event has this
   * id.
   */
  async requeue(id: string, event?: EventOf<Events>): Promise<boolean> {
    const text = event === undefined ? null : JSON.stringify({ ...event, idempotency_key: id });
    const isThere = await this.#store.requeue(id, text);
    this.wake();
    return isThere;
  }

  discard(id: string): Promise<boolean> {
    return this.#store.discard(id);
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
