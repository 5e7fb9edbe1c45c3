import { backoffMs } from "../../core/backoff.ts";
import { messageOf } from "../../core/thrown.ts";
import type { EventBatchResult, EventSearch } from "../api-types.ts";
import type { Client } from "../client.ts";
import { ApiError } from "../client-error.ts";
import { randomKey } from "../random-key.ts";
import type { Time } from "../time.ts";
import type { OutboxEntry, OutboxStore, ParkedEntry } from "./outbox-store.ts";

export interface PublisherOptions {
  readonly client: Pick<Client<never>, "call">;
  readonly store: Omit<OutboxStore, "put">;
  readonly time: Time;
  readonly onParked?: (entry: ParkedEntry) => void;
}

/** Result of one publishing round. */
export interface Round {
  readonly claimed: number;
  readonly published: number;
  readonly error: unknown;
}

const entriesMax = 100;
/** The server accepts 16 MiB per call; text may grow when it is encoded. */
const batchCharactersMax = 4 * 1_024 * 1_024;
/** How long other processes wait if a process dies in the middle of a batch. */
const leaseMs = 60_000;
/** Time limit for all calls of a batch, so that the lease outlives them. */
const batchMsMax = 40_000;
const releaseBounds = { delayMsMin: 1_000, delayMsMax: 30_000 };
/** The server keeps a key for 24 hours. An event that was first tried earlier may already be published. */
const keyLifeMs = 23 * 3_600_000;

/** Errors of a single event that may pass with time. All others are faults of the event itself. */
const passingCodes: ReadonlySet<string> = new Set([
  "event_in_progress",
  "rate_limited",
  "unavailable",
  "internal_error",
  "limit_reached",
]);

/** Publishes claimed events in batches, in order. */
export class OutboxPublisher {
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
      claimed = await store.claim({ token, now, leaseUntil: now + leaseMs, limit: entriesMax });
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
        // Halve the batch until the faulty event is alone. A batch that is too large would be too large again.
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
    await this.#surely(() => store.done({ token, ids: done }));
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

  /** Ids of events that the server already has, among those tried so long ago that their keys may have expired. */
  async #knownAlready(batch: readonly OutboxEntry[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { client, time } = this.#options;
    const known = new Set<string>();
    for (const { id, attempts, firstClaimedAt } of batch) {
      if (attempts === 1 || time.now() - firstClaimedAt < keyLifeMs) continue;
      const query = { idempotency_key: id, limit: 1 };
      try {
        const { data } = await client.call<EventSearch>("GET", "/v1/events", { query, signal });
        if (data.length > 0) known.add(id);
      } catch (error) {
        // A key that may only publish cannot look events up. Publishing twice is better than never.
        if (!(error instanceof ApiError) || error.status !== 403) throw error;
      }
    }
    return known;
  }

  async #park(entry: OutboxEntry, token: string, error: string): Promise<void> {
    const { store, time, onParked } = this.#options;
    const { id, event } = entry;
    const parkedAt = time.now();
    await this.#surely(() => store.park({ token, id, parkedAt, error }));
    onParked?.({ id, event, error, parkedAt });
  }

  async #release(entries: readonly OutboxEntry[], { token }: Claim, cause: unknown): Promise<void> {
    const { store, time } = this.#options;
    const asked = cause instanceof ApiError ? (cause.retryAfterSeconds ?? 0) * 1_000 : 0;
    const attempts = Math.max(...entries.map((entry) => entry.attempts));
    const delayMs = Math.max(asked, backoffMs(releaseBounds, attempts - 1));
    const ids = entries.map(({ id }) => id);
    await this.#surely(() => store.release({ token, ids, dueAt: time.now() + delayMs }));
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

/** Refusals caused by the events of a call; 401, 403, 404 and the like concern the caller or the URL. */
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

/** As many as fit, but at least one. */
function beginning(entries: readonly OutboxEntry[], charactersMax: number): readonly OutboxEntry[] {
  let characters = 0;
  const end = entries.findIndex(
    ({ event }, index) => (characters += event.length) > charactersMax && index > 0,
  );
  return end === -1 ? entries : entries.slice(0, end);
}

function problemText({
  code,
  detail,
  errors = [],
}: {
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}): string {
  return [`${code}: ${detail}`, ...errors.map(({ field, message }) => `${field} ${message}`)].join("; ");
}
