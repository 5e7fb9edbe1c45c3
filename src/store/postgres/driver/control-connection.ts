import type pg from "pg";
import { Backoff } from "../../../domain/retry-schedule.ts";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { Alarm } from "../../../ports/clock.ts";
import { numbers, texts } from "./sql.ts";
import type { Runner, Value } from "./database.ts";
import { clientClass, columnTypes, realTime, ServerPlaces, spareTime } from "./driver.ts";
import { isConnectionRefused } from "./errors.ts";
import { greet, type Greeting, identityOf, type Incarnation, type Incarnations } from "./server.ts";

/**
 * Runs queries over a recently opened connection, which leads to the server that the address currently points to. This
 * connection does not count towards the connection limit.
 */
interface FreshRunner extends Runner {
  /** Called when the open connection may lead to a different server: the next query opens a new one. */
  renew(): void;
}

interface Held {
  readonly greeting: Greeting;
  readonly free: () => void;
}

type FoundRow = [identity: string, pid: number | null, waitsForStandby: boolean | null];

const askBounds = { delayMsMin: 250, delayMsMax: 2_000 };

/** Finds which of these server processes still exist and have not been replaced by a process with the same pid. */
const findSql = `SELECT ${identityOf}, a.pid, coalesce(a.wait_event = 'SyncRep', false)
  FROM (SELECT 1) AS always LEFT JOIN (
    SELECT a.pid, a.wait_event FROM pg_stat_activity a
    JOIN unnest($1::int[], $2::text[]) AS g (pid, greeted_at) ON g.pid = a.pid AND a.backend_start <= g.greeted_at::timestamptz)
  AS a ON true`;

const endSql = "SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid";

/**
 * Connections whose last statement was not answered. Closing them would not end their work in the server: a commit that
 * waits for a synchronous standby waits forever, and each replacement would be one more connection. So each connection
 * counts as used until its server process has exited, or the address leads to a different server.
 *
 * A statement that should have ended by its limits is ended with `pg_terminate_backend`. A commit that waits for its
 * standby is not terminated: ending the wait would make visible a change that only one server has.
 */
export class UnansweredConnections {
  readonly #fresh: FreshRunner;
  readonly #held = new Set<Held>();
  readonly #alarm = new Alarm(realTime);
  readonly #backoff = new Backoff(askBounds);
  #isAsking = false;
  #isClosed = false;
  #waitsForStandby = false;

  constructor(fresh: FreshRunner) {
    this.#fresh = fresh;
  }

  /** Whether commits are known to wait for a synchronous standby. */
  get waitsForStandby(): boolean {
    return this.#held.size > 0 && this.#waitsForStandby;
  }

  /**
   * Calls `free` once, when the server has ended the connection. The returned function calls it immediately, for
   * callers that already know that the connection has ended.
   */
  hold(greeting: Greeting, free: () => void): () => void {
    const held: Held = { greeting, free };
    const release = (): void => this.#release(held);
    if (this.#isClosed) {
      free();
      return () => undefined;
    }
    if (this.#held.size === 0) this.#fresh.renew();
    this.#held.add(held);
    this.#backoff.reset();
    this.#later(0);
    return release;
  }

  close(): void {
    this.#isClosed = true;
    this.#alarm.close();
    for (const held of this.#held) this.#release(held);
  }

  #release(held: Held): void {
    if (this.#held.delete(held)) held.free();
  }

  #later(delayMs: number): void {
    if (!this.#isAsking) this.#alarm.set(delayMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    if (this.#isAsking || this.#held.size === 0) return;
    this.#isAsking = true;
    const asked = [...this.#held];
    try {
      await this.#look(asked);
    } catch (error) {
      // No server listens at the address, or the server has just started. In both cases, no earlier server process
      // exists.
      if (isConnectionRefused(error)) for (const held of asked) this.#release(held);
    }
    this.#isAsking = false;
    if (this.#held.size === 0) return;
    this.#later(this.#backoff.nextMs());
  }

  async #look(asked: readonly Held[]): Promise<void> {
    const found = await this.#fresh.rows<FoundRow>(findSql, [
      numbers(asked.map(({ greeting }) => greeting.pid)),
      texts(asked.map(({ greeting }) => greeting.greetedAt)),
    ]);
    const identity = found[0]?.[0] ?? "";
    const left = new Map(found.map(([, pid, waits]) => [pid, waits === true]));
    const overdue: number[] = [];
    for (const held of asked) {
      const { greeting } = held;
      const waits = greeting.identity === identity ? left.get(greeting.pid) : undefined;
      if (waits === undefined) this.#release(held);
      else if (!waits) overdue.push(greeting.pid);
    }
    this.#waitsForStandby = [...left.values()].includes(true);
    if (overdue.length > 0) await this.#fresh.rows(endSql, [numbers(overdue)]);
  }
}

interface ControlConnectionOptions {
  readonly driver: typeof pg;
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly incarnations: Incarnations;
}

/** A user of the connection; while there is one, the connection is kept open. */
interface ControlUser {
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
/** Delays between attempts to connect. A server that closed one connection usually accepts a new one immediately. */
const againBounds = { delayMsMin: 250, delayMsMax: 2_000 };
const answerMsMax = 2_000;

/**
 * A connection separate from those that carry work, so that the server can be queried when all others hang. The
 * listener keeps it open. Without a listener, it is opened for a query and closed when unused. It never runs a
 * statement that waits, so closing it also ends its session in the server.
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

  /** Opens the connection, and reopens it after every loss. */
  keepOpen(user: ControlUser): void {
    this.#user = user;
    this.renew();
  }

  /** Closes the connection, and reopens it immediately if a user needs it. */
  renew(): void {
    if (this.#opened !== null) this.#leave(this.#opened.client);
    if (this.#user !== null) this.#openSoon(0);
  }

  /** Like `renew`, for a connection that no longer works: it is destroyed without a terminate message. */
  abandon(): void {
    this.#opened?.client.connection.stream.destroy();
    this.#opened = null;
    this.renew();
  }

  /** Runs a query over a connection that is at most a few seconds old. */
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

  /** Closes a working connection with a terminate message. The next connection waits until the server has closed it. */
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
