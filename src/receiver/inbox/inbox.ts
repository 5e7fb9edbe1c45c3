import { backoffMs } from "../../domain/retry-schedule.ts";
import { type MessageHandler, runHandler } from "../answers.ts";
import { endpointOf, storeKey } from "../message/message-key.ts";
import {
  type MessageFacts,
  listHeaders,
  receivedHeaders,
  verifiedMessage,
  withoutToken,
} from "../message/message.ts";
import type { ReceiverError } from "../receiver-error.ts";
import type { InboxEntry, InboxStore } from "./inbox-store.ts";

/** Credentials are not needed once a message is verified, and should not be stored in a database. */
const droppedHeaders = new Set(["authorization", "cookie", "proxy-authorization"]);

interface Envelope extends Omit<MessageFacts, "message" | "attempt"> {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Serializes a message, except its body, to a string for a store. */
function writeEnvelope(facts: MessageFacts): string {
  const { message, scheme, producer, messageId, timestampSeconds, key, receivedAt } = facts;
  const { method, url } = message;
  const headers = [...listHeaders(message.headers)].filter(
    ([name]) => !droppedHeaders.has(name.toLowerCase()),
  );
  const verified = { scheme, producer, messageId, timestampSeconds, key, receivedAt };
  return JSON.stringify({ ...verified, method, url: withoutToken(url), headers } satisfies Envelope);
}

function readEnvelope(entry: Pick<InboxEntry, "envelope" | "body" | "attempt">): MessageFacts {
  const { method, url, headers, ...facts } = JSON.parse(entry.envelope) as Envelope;
  const message = { method, url, headers: receivedHeaders(headers), body: entry.body };
  return { ...facts, message, attempt: entry.attempt };
}

/**
 * Stores messages and processes them later: the sender gets its 202 as soon as a message is stored, and the application
 * can take as long as it needs. Each message is processed at least once; a crash between the end of the handler and its
 * record causes a second run.
 */
export interface Inbox {
  /** Stores a verified message and resolves when it is durably stored. Called by the receiver. */
  accept(facts: MessageFacts): Promise<void>;
  /** Starts processing, including messages from earlier runs of the program. Calling it again has no effect. */
  start(): void;
  /** Claims no more messages and waits for running handlers. May be called more than once, and followed by `start`. */
  stop(): Promise<void>;
  /**
   * Processes the messages that are due now, and returns how many handlers ran. For programs that are started
   * periodically.
   */
  runDue(): Promise<number>;
  /** Parked messages, oldest first. `limit` defaults to 100. */
  parked(request?: { readonly limit?: number }): Promise<readonly ParkedMessage[]>;
  /**
   * Processes a parked message again, with the full number of attempts. Returns false if no parked message has this id.
   */
  requeue(id: string): Promise<boolean>;
  /** Removes a parked message. */
  discard(id: string): Promise<boolean>;
}

interface ParkedMessage {
  readonly id: string;
  readonly facts: MessageFacts;
  readonly parkedAt: Date;
  readonly error: string;
}

export interface InboxOptions {
  readonly store: InboxStore;
  /**
   * Processes one message. If it throws, the message is retried later. A message is never retried after a ReceiverError
   * `invalid_message`, or after a response from 400 to 499 other than 409 and 429.
   */
  readonly handler: MessageHandler;
  /** Maximum number of concurrent handlers; defaults to 4. */
  readonly concurrency?: number;
  /** Number of attempts before a message is parked; defaults to 10. */
  readonly attemptsMax?: number;
  /** Delay after the first failure in milliseconds, doubled each time; defaults to 1,000. */
  readonly retryDelayMsMin?: number;
  /** Upper limit of the delay; defaults to one hour. */
  readonly retryDelayMsMax?: number;
  /**
   * How long a handler may run before another process claims its message; defaults to 5 minutes. `signal` is aborted at
   * that point.
   */
  readonly leaseMs?: number;
  /**
   * Interval in milliseconds for polling for messages that other processes stored, or that are due again; defaults to
   * 1,000.
   */
  readonly pollMs?: number;
  /** Called on failures of handlers and of the store. */
  readonly onError?: (error: unknown) => void;
  /** Called when a message is parked. */
  readonly onParked?: (parked: ParkedMessage) => void;
  /** Current time in Unix milliseconds; defaults to `Date.now`. */
  readonly now?: () => number;
  /** Returns a number from 0 to 1; defaults to `Math.random`. */
  readonly random?: () => number;
}

/** Maximum number of characters of an error that are stored with its message. */
const errorLengthMax = 500;

export function createInbox(options: InboxOptions): Inbox {
  return new StoredInbox(options);
}

class StoredInbox implements Inbox {
  readonly #options: InboxOptions;
  readonly #store: InboxStore;
  readonly #now: () => number;
  #workers: Promise<unknown> | null = null;
  #isStopping = false;
  readonly #sleepers = new Set<() => void>();

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#now = options.now ?? Date.now;
  }

  async accept(facts: MessageFacts): Promise<void> {
    const { key, producer, message } = facts;
    // The key is used as the id, so that a message whose process died before it responded is not stored twice.
    const id =
      key === null
        ? globalThis.crypto.randomUUID()
        : await storeKey(producer, endpointOf(message.url, undefined), key);
    await this.#store.put({ id, envelope: writeEnvelope(facts), body: message.body, dueAt: this.#now() });
    this.#wakeOne();
  }

  start(): void {
    if (this.#workers !== null) return;
    this.#isStopping = false;
    const { concurrency = 4 } = this.#options;
    this.#workers = Promise.all(Array.from({ length: concurrency }, () => this.#work()));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const wake of this.#sleepers) wake();
    await this.#workers;
    this.#workers = null;
  }

  async runDue(): Promise<number> {
    let count = 0;
    while (await this.#runNext()) count += 1;
    return count;
  }

  async parked({ limit = 100 } = {}): Promise<readonly ParkedMessage[]> {
    const entries = await this.#store.listParked(limit);
    return entries.map((entry) => parkedMessage(entry, entry.parkedAt, entry.error));
  }

  async requeue(id: string): Promise<boolean> {
    const isRequeued = await this.#store.requeue(id, this.#now());
    this.#wakeOne();
    return isRequeued;
  }

  async discard(id: string): Promise<boolean> {
    return this.#store.discard(id);
  }

  async #work(): Promise<void> {
    while (!this.#isStopping) {
      const didRun = await this.#runNext().catch((error: unknown) => {
        this.#options.onError?.(error);
        return false;
      });
      if (!didRun && !this.#isStopping) await this.#sleep();
    }
  }

  /** Waits until a message is stored by this process, or until the next poll. */
  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, this.#options.pollMs ?? 1_000);
      this.#sleepers.add(wake);
    });
  }

  #wakeOne(): void {
    const [wake] = this.#sleepers;
    wake?.();
  }

  async #runNext(): Promise<boolean> {
    const { leaseMs = 300_000, attemptsMax = 10 } = this.#options;
    const token = globalThis.crypto.randomUUID();
    const now = this.#now();
    const entry = await this.#store.claim(now, now + leaseMs, token);
    if (entry === null) return false;
    if (entry.attempt > attemptsMax) {
      // Every attempt was claimed but none was settled, so this message probably crashes the process.
      await this.#park(entry, token, "no attempt finished");
      return true;
    }
    const failure = await this.#attempt(entry, leaseMs);
    await this.#settle(entry, token, failure);
    return true;
  }

  /** Null if the message was processed. */
  async #attempt(entry: InboxEntry, leaseMs: number): Promise<Failure | null> {
    try {
      const run = { signal: AbortSignal.timeout(leaseMs), transaction: undefined };
      const received = verifiedMessage(readEnvelope(entry), run.signal, run.transaction);
      const { status } = await runHandler(this.#options.handler, received, undefined);
      return status < 400 ? null : failureOf(status, `the handler returned ${status}`);
    } catch (error) {
      this.#options.onError?.(error);
      const { status, message, cause } = error as ReceiverError;
      return failureOf(status, cause instanceof Error ? cause.message : message);
    }
  }

  async #settle(entry: InboxEntry, token: string, failure: Failure | null): Promise<void> {
    const { id, attempt } = entry;
    if (failure === null) {
      await this.#store.done({ id, token });
      return;
    }
    const { error, isFinal } = failure;
    if (isFinal || attempt >= (this.#options.attemptsMax ?? 10)) {
      await this.#park(entry, token, error);
      return;
    }
    await this.#store.postpone({ id, token, error, dueAt: this.#now() + this.#delayMs(attempt) });
  }

  async #park(entry: InboxEntry, token: string, error: string) {
    const parkedAt = this.#now();
    const isOurs = await this.#store.park({ id: entry.id, token, parkedAt, error });
    if (isOurs) this.#options.onParked?.(parkedMessage(entry, parkedAt, error));
  }

  #delayMs(attempt: number): number {
    const { retryDelayMsMin = 1_000, retryDelayMsMax = 3_600_000, random = Math.random } = this.#options;
    const bounds = { delayMsMin: retryDelayMsMin, delayMsMax: retryDelayMsMax };
    return Math.round(backoffMs(bounds, attempt - 1, random()));
  }
}

interface Failure {
  readonly error: string;
  /** Whether another attempt would fail as well. */
  readonly isFinal: boolean;
}

function failureOf(status: number, error: string): Failure {
  const isFinal = status >= 400 && status < 500 && status !== 409 && status !== 429;
  // PostgreSQL does not accept NUL in text, and error messages may quote input.
  return { error: error.slice(0, errorLengthMax).replaceAll("\0", "?"), isFinal };
}

function parkedMessage(entry: InboxEntry, parkedAt: number, error: string): ParkedMessage {
  return { id: entry.id, facts: readEnvelope(entry), parkedAt: new Date(parkedAt), error };
}
