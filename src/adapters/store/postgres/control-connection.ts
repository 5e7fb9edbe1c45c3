import type pg from "pg";
import { Backoff } from "../../../core/backoff.ts";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { Alarm } from "../../../ports/timing/alarm.ts";
import type { Value } from "./database.ts";
import { columnTypes } from "./driver.ts";
import type { Incarnation, Incarnations } from "./incarnations.ts";
import { clientClass, ServerPlaces } from "./pool-client.ts";
import { greet } from "./server-greeting.ts";
import { spareTime } from "./real-time.ts";
import type { FreshRunner } from "./unanswered-connections.ts";

export interface ControlConnectionOptions {
  readonly driver: typeof pg;
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly incarnations: Incarnations;
}

/** A user of the connection that keeps it open. */
export interface ControlUser {
  /** Called with each new connection before other code uses it. */
  readonly opened: (client: pg.Client) => Promise<void>;
}

interface Opened {
  readonly client: pg.Client;
  readonly atMs: number;
  readonly incarnation: Incarnation;
}

/** An older connection may lead to a former server. */
const freshMs = 10_000;
/** A server that ended one connection usually accepts the next one at once. */
const againBounds = { delayMsMin: 250, delayMsMax: 2_000 };
const answerMsMax = 2_000;

/**
 * A connection separate from those that carry work, so that the server can be queried when all others hang. The
 * listener keeps it open; without a listener it is opened for a query and closed when unused. It never holds a waiting
 * statement, so closing it ends it in the server too.
 */
export class ControlConnection implements FreshRunner {
  readonly #options: ControlConnectionOptions;
  readonly #Client: ReturnType<typeof clientClass>;
  #user: ControlUser | null = null;
  #opening: Promise<Opened> | null = null;
  #opened: Opened | null = null;
  readonly #reopening = new Alarm(spareTime);
  readonly #backoff = new Backoff(againBounds);
  #isClosed = false;

  constructor(options: ControlConnectionOptions) {
    this.#options = options;
    this.#Client = clientClass(options.driver, { places: new ServerPlaces(1) });
    options.incarnations.watch(() => {
      if (this.#opened !== null && this.#opened.incarnation !== options.incarnations.current) this.renew();
    });
  }

  get isOpen(): boolean {
    return this.#opened !== null;
  }

  /** Opens it, and reopens it after every loss. */
  keepOpen(user: ControlUser): void {
    this.#user = user;
    this.renew();
  }

  /** Closes it, and reopens it at once if a user wants it open. */
  renew(): void {
    if (this.#opened !== null) this.#leave(this.#opened.client);
    if (this.#user !== null) this.#openSoon(0);
  }

  /** The same for a connection that leads nowhere: skip the polite close. */
  abandon(): void {
    this.#opened?.client.connection.stream.destroy();
    this.#opened = null;
    this.renew();
  }

  /** Runs a query over a connection that is only some seconds old. */
  async rows<Row extends readonly unknown[]>(
    sql: string,
    values: readonly Value[] = [],
  ): Promise<readonly Row[]> {
    if (this.#opened !== null && performance.now() - this.#opened.atMs > freshMs)
      this.#leave(this.#opened.client);
    const { client } = await this.#open();
    try {
      const answer = client.query<unknown[]>({ text: sql, values: [...values], rowMode: "array" });
      return (await answer).rows as unknown as readonly Row[];
    } catch (error) {
      this.#gone(client);
      throw error;
    } finally {
      if (this.#user === null) this.#leave(client);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reopening.close();
    const opened = this.#opened;
    this.#opened = null;
    await opened?.client.end().catch(() => undefined);
  }

  #open(): Promise<Opened> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailableError("the store is closed"));
    if (this.#opened !== null) return Promise.resolve(this.#opened);
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #connect(): Promise<Opened> {
    const { url, connectTimeoutMs, incarnations } = this.#options;
    const client = new this.#Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: answerMsMax,
      keepAlive: true,
      application_name: "posthorn listener",
      types: columnTypes,
    });
    client.on("error", () => this.#gone(client));
    client.on("end", () => this.#gone(client));
    try {
      await client.connect();
      const greeting = await greet(client, null);
      await this.#user?.opened(client);
      if (this.#isClosed) throw new StoreUnavailableError("the store is closed");
      this.#backoff.reset();
      const incarnation = incarnations.met(greeting.identity);
      const opened = { client, incarnation, atMs: performance.now() };
      this.#opened = opened;
      return opened;
    } catch (error) {
      client.connection.stream.destroy();
      if (this.#user !== null) this.#openSoon(this.#backoff.nextMs());
      throw error;
    }
  }

  /** Closes a working connection politely. The next one waits until the server has closed it. */
  #leave(client: pg.Client): void {
    if (this.#opened?.client !== client) return;
    this.#opened = null;
    void client.end().catch(() => undefined);
  }

  #gone(client: pg.Client): void {
    client.connection.stream.destroy();
    if (this.#opened?.client !== client) return;
    this.#opened = null;
    if (this.#user !== null) this.#openSoon(this.#backoff.nextMs());
  }

  #openSoon(delayMs: number): void {
    this.#reopening.set(delayMs, () => void this.#open().catch(() => undefined));
  }
}
