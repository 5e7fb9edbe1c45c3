import { Backoff } from "../../domain/retry-schedule.ts";
import { Alarm, type Clock, type Timer, withDeadline } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { discard, type RedisClient } from "./client.ts";
import { NoAnswerError } from "./errors.ts";

/** Resolves with the result of `work`, or rejects with NoAnswerError after `timeoutMs`. */
export function answerWithin<Result>(
  work: Promise<Result>,
  clock: Clock,
  timeoutMs: number,
): Promise<Result> {
  const overdue = (): Error => new NoAnswerError();
  return withDeadline(work, { clock: betweenReads(clock), timeoutMs, overdue });
}

/**
 * The time limit starts when the request is written, and expires only after all received data has been read. Otherwise
 * a process that was briefly busy would consider its server dead.
 */
function betweenReads(clock: Clock): Pick<Clock, "schedule"> {
  return {
    schedule(delayMs, callback) {
      let timer: Timer | null = null;
      let isCancelled = false;
      clock.defer(() => {
        if (!isCancelled) timer = clock.schedule(delayMs, () => clock.defer(callback));
      });
      return {
        cancel() {
          isCancelled = true;
          timer?.cancel();
        },
      };
    },
  };
}

interface ConnectionOptions {
  readonly newClient: (connectTimeoutMs: number) => RedisClient;
  /** Checks that the server can be used, or rejects. The connection counts as open only afterwards. */
  readonly prepare: (client: RedisClient) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly lost: (error: unknown) => void;
  /** Called after a failed attempt to reconnect; another attempt follows. */
  readonly stillLost: (error: unknown) => void;
  readonly restored: () => void;
}

/** Reconnecting soon matters more than a few extra attempts at an unavailable server. */
const againBounds = { delayMsMin: 100, delayMsMax: 2_000 };
/** Time limit for one attempt to connect and prepare, and for the reply to a heartbeat. */
const attemptTimeoutMs = 2_000;
/** Interval for verifying that the server is alive; a firewall may have dropped the connection. */
const heartbeatMs = 5_000;

/** One connection that is reopened after every loss. While it is lost, `client` is null, and callers do not wait. */
export class Connection {
  readonly #options: ConnectionOptions;
  #client: RedisClient | null = null;
  /** Timer for the next heartbeat or the next attempt to reconnect. */
  readonly #alarm: Alarm;
  readonly #backoff = new Backoff(againBounds);
  /** Rejects on close, so that pending operations end. */
  readonly #closed = Promise.withResolvers<never>();
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
    this.#closed.promise.catch(() => undefined);
  }

  /** Null while disconnected. */
  get client(): RedisClient | null {
    return this.#client;
  }

  /** Opens the first connection. Rejects on failure, without another attempt. */
  async open(timeoutMs: number): Promise<void> {
    this.#adopt(await this.#connect(timeoutMs));
  }

  /** Drops a client that does not work. Does nothing if it is not the current client. */
  lose(client: RedisClient, error: unknown): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = null;
    this.#backoff.reset();
    this.#again();
    discard(client);
    this.#options.lost(error);
  }

  close(): void {
    this.#isClosed = true;
    this.#closed.reject(new Error("the connection is closed"));
    this.#alarm.close();
    if (this.#client !== null) discard(this.#client);
    this.#client = null;
  }

  async #connect(timeoutMs: number): Promise<RedisClient> {
    const { newClient, prepare, clock } = this.#options;
    const client = newClient(timeoutMs);
    const broken = Promise.withResolvers<never>();
    client.on("error", (error) => {
      broken.reject(error);
      this.lose(client, error);
    });
    const ready = client.connect().then(async () => prepare(client));
    try {
      const outcome = Promise.race([ready, broken.promise, this.#closed.promise]);
      await answerWithin(outcome, clock, timeoutMs);
      return client;
    } catch (error) {
      discard(client);
      // A client abandoned while connecting keeps connecting, so discard it once it is connected.
      void ready.catch(() => undefined).finally(() => discard(client));
      throw error;
    }
  }

  #adopt(client: RedisClient): void {
    if (this.#isClosed) {
      discard(client);
      return;
    }
    this.#client = client;
    this.#alarm.set(heartbeatMs, () => void this.#heartbeat(client));
  }

  async #heartbeat(client: RedisClient): Promise<void> {
    const { clock } = this.#options;
    try {
      await answerWithin(client.ping(), clock, attemptTimeoutMs);
      if (this.#client === client) this.#alarm.set(heartbeatMs, () => void this.#heartbeat(client));
    } catch (error) {
      this.lose(client, error);
    }
  }

  #again(): void {
    const delayMs = this.#backoff.nextMs(this.#options.random.uniform());
    this.#alarm.set(delayMs, () => void this.#reconnect());
  }

  async #reconnect(): Promise<void> {
    let client: RedisClient;
    try {
      client = await this.#connect(attemptTimeoutMs);
    } catch (error) {
      if (this.#isClosed) return;
      this.#again();
      this.#options.stillLost(error);
      return;
    }
    this.#adopt(client);
    if (this.#client === client) this.#options.restored();
  }
}
