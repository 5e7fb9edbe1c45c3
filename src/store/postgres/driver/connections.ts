import type pg from "pg";
import { withDeadline } from "../../../ports/clock.ts";
import type { UnansweredConnections } from "./control-connection.ts";
import type { Value } from "./database.ts";
import { clientClass, columnTypes, realTime, ServerPlaces } from "./driver.ts";
import {
  AnswerOverdueError,
  isConnectionLoss,
  isReadOnlyRefusal,
  LeftServerError,
  UnreplicatedError,
} from "./errors.ts";
import {
  isStatementLost,
  NamedStatements,
  type PreparedStatements,
  SessionPlans,
} from "./named-statements.ts";
import {
  greet,
  type Greeting,
  type Incarnation,
  type Incarnations,
  refusesStartupBounds,
  type ServerBounds,
  startupBounds,
} from "./server.ts";
import { isKept, type KnownStatement, type Rows, send, StatementBatch } from "./statement-batch.ts";

export interface ConnectionsOptions {
  readonly url: string;
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  readonly preparedStatements: PreparedStatements;
  /** Time limits that the server enforces; null for none, as in migrations. */
  readonly bounds: ServerBounds | null;
  /** Maximum age of a connection, so that a process soon notices when the address leads to another server. */
  readonly lifetimeMs?: number;
  /** Records to which server run each connection leads. */
  readonly incarnations: Incarnations;
  /** Counts unanswered connections until the server has ended them; null if the server cannot be queried. */
  readonly unanswered: UnansweredConnections | null;
}

/** Margin over the server's own limit on statements, so that the server always acts first. */
export const answerMarginMs = 2_000;

export function answerMsOf(bounds: ServerBounds): number {
  return bounds.statementMs + answerMarginMs;
}

/**
 * The connections of one purpose, limited in the way the server counts them: an unanswered connection counts until its
 * server process has exited, and is not replaced before that.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #pool: pg.Pool;
  readonly #met = new Map<pg.ClientBase, Met>();
  readonly #statements: NamedStatements;
  /** Set when a pooler has refused the startup parameters. Each transaction then sets its own limits. */
  #parametersRefused = false;
  #closing: Promise<void> | null = null;

  constructor(driver: typeof pg, options: ConnectionsOptions) {
    this.#options = options;
    this.#statements = new NamedStatements(options.preparedStatements);
    this.#pool = new driver.Pool({
      connectionString: options.url,
      max: options.connectionsMax,
      connectionTimeoutMillis: options.connectTimeoutMs,
      idleTimeoutMillis: 60_000,
      ...(options.lifetimeMs === undefined ? {} : { maxLifetimeSeconds: options.lifetimeMs / 1_000 }),
      keepAlive: true,
      application_name: "posthorn",
      types: columnTypes,
      Client: clientClass(driver, {
        places: new ServerPlaces(options.connectionsMax),
        parameters: () => (this.#parametersRefused ? {} : startupBounds(options.bounds)),
      }),
    });
    // The pool removes a connection that broke while idle; the next caller gets a different one.
    this.#pool.on("error", () => undefined);
    // If a connection breaks while it is in use, its statement fails as well. Without a listener, the error event would
    // end the process.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
    this.#pool.on("remove", (client) => this.#met.delete(client));
    options.incarnations.watch(() => this.#leaveOthers());
  }

  get isClosing(): boolean {
    return this.#closing !== null;
  }

  async use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const connection = await this.#take();
    try {
      const result = await work(connection);
      this.#options.incarnations.answered();
      connection.client.release();
      return result;
    } catch (error) {
      this.#giveBack(connection, error);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    await this.#closing;
  }

  /**
   * Takes a connection to the current server run. Older connections may lead to a replaced server that still responds.
   */
  async #take(): Promise<Connection> {
    for (;;) {
      const client = await this.#connected();
      const met = this.#met.get(client) ?? (await this.#meet(client));
      if (this.#isPresent(met) && met.generation === this.#statements.generation) {
        await this.#renewPlans(client, met);
        return this.#connection(client, met);
      }
      destroy(client);
      client.release(true);
    }
  }

  #connection(client: pg.PoolClient, met: Met): Connection {
    const { bounds } = this.#options;
    const statements = this.#statements.isOnFor(met.greeting.isDirect) ? this.#statements : null;
    return new Connection(client, { ...met, bounds, statements });
  }

  async #meet(client: pg.PoolClient): Promise<Met> {
    const { bounds, incarnations } = this.#options;
    const { generation } = this.#statements;
    const met = await this.#asking(client, async () => {
      const greeting = await greet(client, bounds);
      const incarnation = incarnations.met(greeting.identity);
      const hasPlans = greeting.isDirect && this.#statements.isOnFor(greeting.isDirect);
      const plans = hasPlans ? await SessionPlans.open(client) : null;
      return { greeting, incarnation: greeting.isDirect ? incarnation : null, generation, plans };
    });
    this.#met.set(client, met);
    return met;
  }

  async #renewPlans(client: pg.PoolClient, { plans }: Met): Promise<void> {
    if (plans?.areOld === true) await this.#asking(client, () => plans.renew(client));
  }

  /** Nothing was written, so the server ends the session as soon as it notices that the connection is closed. */
  async #asking<Result>(client: pg.PoolClient, ask: () => Promise<Result>): Promise<Result> {
    try {
      return await inTime(ask(), this.#options.connectTimeoutMs);
    } catch (error) {
      destroy(client);
      client.release(true);
      throw error;
    }
  }

  #isPresent({ incarnation }: Pick<Met, "incarnation">): boolean {
    return incarnation === null || incarnation === this.#options.incarnations.current;
  }

  async #connected(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (this.#parametersRefused || !refusesStartupBounds(error)) throw error;
      this.#parametersRefused = true;
      return this.#pool.connect();
    }
  }

  #giveBack(connection: Connection, error: unknown): void {
    const { client, greeting } = connection;
    const { unanswered } = this.#options;
    if (isStatementLost(error)) this.#statements.lost(greeting.isDirect);
    // A session that cannot write may lead to a former primary; a new connection leads to the current one.
    if (!isConnectionLoss(error) && !connection.isBroken) return client.release(isReadOnlyRefusal(error));
    const mayBeBusy = greeting.isDirect && connection.isUnanswered && this.#isPresent(connection);
    if (unanswered === null || !mayBeBusy) {
      destroy(client);
      return client.release(true);
    }
    const free = unanswered.hold(greeting, () => {
      destroy(client);
      client.release(true);
    });
    if (connection.overdue === null) return;
    // The server reads the terminate message only after it has answered. Once it closes the connection, its process has
    // exited.
    void connection.overdue.then(
      () => void client.end().then(free, free),
      () => undefined,
    );
  }

  /** Sessions on a server other than the current one are useless, even while they run a statement. */
  #leaveOthers(): void {
    for (const [client, met] of this.#met) if (!this.#isPresent(met)) destroy(client, new LeftServerError());
  }
}

/** Facts determined when a connection was opened. */
interface Met {
  readonly greeting: Greeting;
  /** Null behind a pooler, where each transaction may reach a different server. */
  readonly incarnation: Incarnation | null;
  /** Generation of named statements when the connection was opened. */
  readonly generation: number;
  /** Null if statements have no names, and behind a pooler, which has separate sessions. */
  readonly plans: SessionPlans | null;
}

/** A connection checked out by one caller. */
export class Connection {
  readonly client: pg.PoolClient;
  readonly greeting: Greeting;
  /** The server run to which the connection leads for its whole lifetime; null behind a pooler. */
  readonly incarnation: Incarnation | null;
  /** Whether the session has time limits. If not, each transaction sets them. */
  readonly isBounded: boolean;
  /** The response that did not arrive in time and may still arrive. */
  overdue: Promise<unknown> | null = null;
  /** True if the connection must not be used again. */
  isBroken = false;
  /** True if the server may still be running the last statement. */
  isUnanswered = false;
  readonly #answerMs: number;
  readonly #statements: NamedStatements | null;
  /** Null if the server chooses the planning mode. */
  readonly plans: SessionPlans | null;

  constructor(
    client: pg.PoolClient,
    parts: Met & { readonly bounds: ServerBounds | null; readonly statements: NamedStatements | null },
  ) {
    const { greeting, incarnation, bounds } = parts;
    this.#statements = parts.statements;
    this.plans = parts.plans;
    this.client = client;
    this.greeting = greeting;
    this.incarnation = incarnation;
    this.isBounded = bounds === null || greeting.isBounded;
    this.#answerMs = bounds === null ? 0 : answerMsOf(bounds);
  }

  /** The session's name for a statement; omitted if the session would not find the statement again. */
  nameOf(sql: string, values: readonly unknown[]): { readonly name?: string } {
    const name = this.#statements?.nameOf(sql, values) ?? null;
    return name === null ? {} : { name };
  }

  /** The statement as cached by the session; null if its text has to be sent. */
  kept(text: string, values: readonly Value[]): KnownStatement | null {
    const { name } = this.nameOf(text, values);
    return name !== undefined && isKept(this.client, name, text) ? { name, values } : null;
  }

  /**
   * Runs statements in one round trip. If `begin` is true, a transaction begins with them; otherwise, it has already
   * begun.
   */
  async together(statements: readonly KnownStatement[], begin: boolean): Promise<readonly Rows[]> {
    const batch = new StatementBatch(statements, begin);
    send(this.client, batch);
    return this.#answer(batch.answer, this.#answerMs);
  }

  /**
   * Throws AnswerOverdueError if the server does not respond in time, and UnreplicatedError for a commit that is
   * missing on a standby.
   */
  async query(
    config: pg.QueryConfig & { readonly rowMode?: "array" },
    answerMs = this.#answerMs,
  ): Promise<readonly unknown[]> {
    let isUnreplicated = false;
    const hear = (notice: { readonly routine?: string | undefined }): void => {
      // The message text depends on the language; the routine in the server's source does not.
      if (notice.routine === "SyncRepWaitForLSN") isUnreplicated = true;
    };
    this.client.on("notice", hear);
    try {
      const answer = await this.#answer(this.client.query<unknown[]>(config), answerMs);
      if (isUnreplicated) throw new UnreplicatedError();
      // A simple query may return several results; use the last one.
      const results: readonly { readonly rows: readonly unknown[] }[] = Array.isArray(answer)
        ? answer
        : [answer];
      return results.at(-1)?.rows ?? [];
    } finally {
      this.client.off("notice", hear);
    }
  }

  async #answer<Result>(answer: Promise<Result>, answerMs: number): Promise<Result> {
    try {
      return answerMs === 0 ? await answer : await inTime(answer, answerMs);
    } catch (error) {
      if (error instanceof AnswerOverdueError) this.overdue = answer;
      // An error from the server itself counts as a response.
      this.isUnanswered = isConnectionLoss(error) && !(error instanceof Error && "severity" in error);
      throw error;
    }
  }
}

/** Rejects with AnswerOverdueError after the time limit; a later response is ignored. */
function inTime<Result>(answer: Promise<Result>, timeoutMs: number): Promise<Result> {
  return withDeadline(answer, { clock: realTime, timeoutMs, overdue: () => new AnswerOverdueError() });
}

/** Closes the connection immediately, even while a statement runs or the network is down. */
function destroy(client: pg.ClientBase, error?: Error): void {
  const { connection } = client as unknown as {
    readonly connection: { readonly stream: { destroy(error?: Error): void } };
  };
  connection.stream.destroy(error);
}
