import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { columnTypes } from "./driver.ts";
import { isConnectionLoss, isTransient, storeError } from "./errors.ts";

/** One parameter of a statement; columns of a batch come as array literals (columns.ts). */
export type Value = string | number | boolean | Uint8Array | null;

/** Runs statements: each on its own, or all of them in one transaction. Rows are arrays of columns. */
export interface Runner {
  rows<Row extends readonly unknown[]>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>;
}

/** A running transaction. */
export interface Transaction extends Runner {
  /** Notes its number, so that its fate can be asked for when the connection is lost while it commits. */
  identify(xid: string): void;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  /** A statement that takes longer fails, and its connection is given up. */
  readonly statementTimeoutMs: number;
  readonly preparedStatements: boolean;
}

/** Conflicts between transactions resolve themselves; this many in a row mean something else. */
const triesMax = 4;
/** How long to ask what became of a transaction whose connection was lost while it committed: callers wait. */
const resolveMsMax = 10_000;
const resolvePauseMs = 500;

/**
 * Connections to one database. Nothing relies on the state of a session, so that a pooler in transaction mode may sit
 * in between: no SET, no advisory lock, no temporary table, and named statements only when they are switched on.
 */
export class Database implements Runner {
  readonly #pool: pg.Pool;
  readonly #names: Map<string, string> | null;
  #closing: Promise<void> | null = null;

  constructor(driver: typeof pg, options: DatabaseOptions) {
    this.#names = options.preparedStatements ? new Map() : null;
    this.#pool = new driver.Pool({
      connectionString: options.url,
      max: options.connectionsMax,
      connectionTimeoutMillis: options.connectTimeoutMs,
      query_timeout: options.statementTimeoutMs,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      application_name: "posthorn",
      types: columnTypes,
      Client: clientClass(driver),
    });
    // The pool drops a connection that broke while it was idle; whoever needs one next gets another.
    this.#pool.on("error", () => undefined);
    // One that breaks in use also fails the statement; without a listener the event alone would end the process.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  /** One statement in a transaction of its own. */
  async rows<Row extends readonly unknown[]>(
    sql: string,
    values: readonly Value[] = [],
  ): Promise<readonly Row[]> {
    return this.#retrying(() => this.#withClient((client) => this.#run<Row>(client, { sql, values })));
  }

  /** Everything `work` does happens, or nothing. It may run more than once, so it must not change anything else. */
  async transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#retrying(async () => {
      const commit: Commit = { xid: null, sent: false };
      try {
        return await this.#withClient((client) => this.#transact(client, { work, commit }));
      } catch (error) {
        if (!commit.sent || !isConnectionLoss(error)) throw error;
        if (commit.xid !== null && (await this.#wasCommitted(commit.xid))) return commit.result as Result;
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    await this.#closing;
  }

  async #retrying<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      if (this.#closing !== null) throw new StoreUnavailableError("the store is closed");
      try {
        return await work();
      } catch (error) {
        if (tries === triesMax || !isTransient(error)) throw storeError(error);
      }
    }
  }

  async #withClient<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client.release(isConnectionLoss(error));
      throw error;
    }
  }

  async #transact<Result>(
    client: pg.PoolClient,
    {
      work,
      commit,
    }: { readonly work: (transaction: Transaction) => Promise<Result>; readonly commit: Commit },
  ): Promise<Result> {
    await client.query("BEGIN");
    try {
      const result = await work({
        rows: (sql, values = []) => this.#run(client, { sql, values }),
        identify: (xid) => {
          commit.xid = xid;
        },
      });
      commit.result = result;
      commit.sent = true;
      await client.query("COMMIT");
      return result;
    } catch (error) {
      if (!isConnectionLoss(error)) await client.query("ROLLBACK");
      throw error;
    }
  }

  async #run<Row extends readonly unknown[]>(
    client: pg.PoolClient,
    statement: { readonly sql: string; readonly values: readonly Value[] },
  ): Promise<readonly Row[]> {
    const name = this.#nameOf(statement.sql);
    const result = await client.query<unknown[]>({
      text: statement.sql,
      values: [...statement.values],
      rowMode: "array",
      ...(name === null ? {} : { name }),
    });
    return result.rows as unknown as readonly Row[];
  }

  #nameOf(sql: string): string | null {
    if (this.#names === null) return null;
    const known = this.#names.get(sql);
    if (known !== undefined) return known;
    const name = createHash("sha1").update(sql).digest("hex");
    this.#names.set(sql, name);
    return name;
  }

  /** Asks the server over another connection. Throws when it cannot be told. */
  async #wasCommitted(xid: string): Promise<boolean> {
    const deadlineMs = performance.now() + resolveMsMax;
    for (;;) {
      try {
        const [row] = await this.#withClient((client) =>
          this.#run<[status: string | null]>(client, {
            sql: "SELECT pg_xact_status($1::xid8)",
            values: [xid],
          }),
        );
        if (row?.[0] === "committed") return true;
        if (row?.[0] !== "in progress") return false;
      } catch (error) {
        // A question that nobody answers takes its own timeout, and must not be followed by another one.
        if (performance.now() >= deadlineMs) throw error;
      }
      if (performance.now() >= deadlineMs) {
        throw new StoreUnavailableError(
          "the connection was lost during a commit, and its outcome is unknown",
        );
      }
      await sleep(resolvePauseMs);
    }
  }
}

/**
 * The pool forgets a connection that failed to open. Where the client itself gave it up, as without a password that the
 * server asks for, nobody would close it, and it would hold up the end of the program until the server loses patience.
 */
function clientClass(driver: typeof pg): new () => pg.Client {
  return class extends driver.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): unknown {
      if (callback === undefined) return super.connect();
      return super.connect((error: Error | null) => {
        if (error !== null) this.connection.stream.destroy();
        callback(error, this);
      });
    }
  };
}

type Connected = (error: Error | null, client: pg.Client) => void;

interface Commit {
  xid: string | null;
  sent: boolean;
  result?: unknown;
}
