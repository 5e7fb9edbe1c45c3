import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { messageOf } from "../../../domain/thrown.ts";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { answerMsOf, type Connection, Connections, type ConnectionsOptions } from "./connections.ts";
import { isConnectionLoss, isTransient, isUnreplicated, storeError } from "./errors.ts";
import { isStatementLost } from "./named-statements.ts";
import {
  beginWith,
  identityOf,
  type Incarnation,
  IncarnationChangedError,
  type Incarnations,
  type ServerBounds,
} from "./server.ts";
import type { Rows } from "./statement-batch.ts";

/** One parameter of a statement; columns of a batch are array literals (sql.ts). */
export type Value = string | number | boolean | Uint8Array | null;

/** Runs statements, each in its own transaction or all in one. Rows are arrays of columns. */
export interface Runner {
  rows<Row extends readonly unknown[]>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>;
}

/** Runs statements, several of them in one transaction if needed. */
export interface Transactor extends Runner {
  /** Runs one statement in a separate transaction; `bounds` sets a shorter time limit. */
  rows<Row extends readonly unknown[]>(
    sql: string,
    values?: readonly Value[],
    bounds?: ServerBounds,
  ): Promise<readonly Row[]>;
  /** Everything in `work` is committed, or nothing. It may run more than once, so it must have no other effects. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
}

/** A running transaction. */
export interface Transaction extends Runner {
  /**
   * Sets a query that returns a row only if this transaction was committed; it must not match other writes. It runs if
   * the response to the commit is lost. Without such a query, the outcome is unknown in that case.
   */
  provenBy(sql: string, values: readonly Value[]): void;
}

/**
 * Conflicts between transactions usually disappear on retry. If this many consecutive attempts fail, the cause is a
 * different one.
 */
const triesMax = 4;
/**
 * Interval between checks for the writes of a transaction whose response was lost. The total time is limited like that
 * of a response, because callers wait.
 */
const provePauseMs = 500;
/**
 * Makes the transaction a write transaction, because then its commit waits like that of any other write. Assigning a
 * transaction id alone is not enough. Touches no row.
 */
const writeSql = "SELECT pg_logical_emit_message(true, 'posthorn', '')";
/**
 * Stop after this many checks without a result: the commit never reached the server, or a different server answers now.
 */
const looksMax = 3;

/**
 * Statements and transactions of one database. Nothing relies on session state, because a pooler in transaction mode
 * may be in between. Therefore, the code uses no advisory session locks and no temporary tables, and uses named
 * statements and SET only on direct connections (named-statements.ts). ARCHITECTURE.md, "When PostgreSQL does not
 * answer", describes how outcomes are decided if a response is lost.
 */
export class Database implements Transactor {
  readonly #connections: Connections;
  readonly #bounds: ServerBounds | null;
  readonly #incarnations: Incarnations;

  constructor(driver: typeof pg, options: ConnectionsOptions) {
    this.#bounds = options.bounds;
    this.#incarnations = options.incarnations;
    this.#connections = new Connections(driver, options);
  }

  rows<Row extends readonly unknown[]>(
    sql: string,
    values: readonly Value[] = [],
    bounds?: ServerBounds,
  ): Promise<readonly Row[]> {
    return this.#rows<Row>({ sql, values }, null, bounds);
  }

  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#transaction(work, null);
  }

  /**
   * Returns a transactor for statements that contain numbers from one server run. On another run, these statements fail
   * before they are executed.
   */
  within(incarnation: Incarnation): Transactor {
    return {
      rows: (sql, values, bounds) => this.#rows({ sql, values: values ?? [] }, incarnation, bounds),
      transaction: (work) => this.#transaction(work, incarnation),
    };
  }

  async #rows<Row extends readonly unknown[]>(
    { sql, values }: Statement,
    within: Incarnation | null,
    bounds: ServerBounds | undefined,
  ): Promise<readonly Row[]> {
    return this.#retrying(async () => {
      const commit: Commit = { isSent: false };
      try {
        return await this.#connections.use(async (connection) => {
          // A pooler may switch servers between two transactions, but not within one.
          const isPinned = within === null || connection.incarnation !== null;
          if (bounds === undefined && connection.isBounded && isPinned) {
            assertWithin(connection, within);
            await this.#planFor(connection, { sql, values });
            commit.isSent = true;
            return this.#run<Row>(connection, { sql, values });
          }
          const work = (transaction: Transaction) => transaction.rows<Row>(sql, values);
          return this.#transact(connection, { work, commit, within, bounds });
        });
      } catch (error) {
        throw outcomeOf(error, commit);
      }
    });
  }

  async #transaction<Result>(
    work: (transaction: Transaction) => Promise<Result>,
    within: Incarnation | null,
  ): Promise<Result> {
    return this.#retrying(async () => {
      const commit: Commit = { isSent: false };
      try {
        return await this.#connections.use((connection) =>
          this.#transact(connection, { work, commit, within }),
        );
      } catch (error) {
        if (await this.#isProven(error, commit)) return commit.result as Result;
        throw outcomeOf(error, commit);
      }
    });
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #retrying<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      if (this.#connections.isClosing) throw new StoreUnavailableError("the store is closed");
      try {
        return await work();
      } catch (error) {
        if (tries === triesMax || !(isTransient(error) || isStatementLost(error))) throw storeError(error);
      }
    }
  }

  async #transact<Result>(connection: Connection, transact: TransactionParts<Result>): Promise<Result> {
    const { work, commit, within } = transact;
    const bounds = transact.bounds ?? (connection.isBounded ? null : this.#bounds);
    const answerMs = bounds === null ? undefined : answerMsOf(bounds);
    // If each transaction has to set its limits or check its server run, it does so before its other statements.
    const mayGather = bounds === null && connection.incarnation !== null;
    const statements = new GatheredStatements({
      begin: () => this.#begin(connection, within, beginWith(bounds, connection.greeting), answerMs),
      run: (statement) => this.#run(connection, { ...statement, answerMs }),
      together: mayGather ? (gathered, begun) => this.#together(connection, gathered, begun) : null,
    });
    if (!mayGather) await statements.begin();
    else assertWithin(connection, within);
    try {
      const result = await work({
        rows: <Row extends readonly unknown[]>(sql: string, values: readonly Value[] = []) =>
          statements.rows({ sql, values }) as Promise<readonly Row[]>,
        provenBy: (sql, values) => {
          commit.proof = { sql, values };
        },
      });
      await statements.begin();
      statements.end(new Error("the transaction is committed"));
      commit.result = result;
      commit.isSent = true;
      await connection.query({ text: "COMMIT" }, answerMs);
      return result;
    } catch (error) {
      statements.end(error);
      if (!isConnectionLoss(error) && !isUnreplicated(error)) await rollBack(connection);
      throw error;
    }
  }

  /** Behind a pooler, the transaction itself reads the server run, in the same round trip. */
  async #begin(
    connection: Connection,
    within: Incarnation | null,
    text: string,
    answerMs: number | undefined,
  ): Promise<void> {
    if (within === null || connection.incarnation !== null) {
      assertWithin(connection, within);
      await connection.query({ text }, answerMs);
      return;
    }
    const looked = await connection.query(
      { text: `${text}; SELECT ${identityOf}`, rowMode: "array" },
      answerMs,
    );
    const [[identity] = [""]] = looked as readonly (readonly [identity: string])[];
    if (this.#incarnations.met(identity) === within) return;
    await rollBack(connection);
    throw new IncarnationChangedError();
  }

  async #run<Row extends readonly unknown[]>(
    connection: Connection,
    statement: Statement & { readonly answerMs?: number | undefined },
  ): Promise<readonly Row[]> {
    await this.#planFor(connection, statement);
    const { sql: text, values, answerMs } = statement;
    const named = connection.nameOf(text, values);
    const rows = await connection.query({ text, values: [...values], rowMode: "array", ...named }, answerMs);
    return rows as readonly Row[];
  }

  /** Returns null if the session has not cached all of the statements. */
  async #together(
    connection: Connection,
    gathered: readonly Statement[],
    begun: boolean,
  ): Promise<readonly Rows[] | null> {
    const kept = gathered
      .map(({ sql, values }) => connection.kept(sql, values))
      .filter((each) => each !== null);
    const [first] = gathered;
    if (first === undefined || kept.length < gathered.length) return null;
    await this.#planFor(connection, first);
    return connection.together(kept, !begun);
  }

  /** Changes only the session, so its outcome is independent of later statements. */
  async #planFor(
    connection: Connection,
    { sql, values, answerMs }: Statement & { readonly answerMs?: number | undefined },
  ): Promise<void> {
    const { name } = connection.nameOf(sql, values);
    const change = connection.plans?.changeTo(name === undefined ? "its_own" : "any_values") ?? null;
    if (change !== null) await connection.query({ text: change }, answerMs);
  }

  /**
   * Checks whether a transaction was committed, if the response to its commit was lost. The check runs on the server to
   * which the address currently leads. A positive result counts only after the checking transaction has itself written
   * and committed. That commit is later in the same log, so a standby that has it also has the earlier one. A negative
   * result proves nothing.
   */
  async #isProven(error: unknown, { isSent, proof }: Commit): Promise<boolean> {
    if (!isSent || proof === undefined || this.#bounds === null || !isConnectionLoss(error)) return false;
    const deadlineMs = performance.now() + answerMsOf(this.#bounds);
    for (
      let looks = 0;
      looks < looksMax && performance.now() < deadlineMs && !this.#connections.isClosing;
    ) {
      const look: Commit = { isSent: false };
      try {
        const found = await this.#connections.use((connection) =>
          this.#transact(connection, {
            work: async (transaction) => {
              const rows = await transaction.rows(proof.sql, proof.values);
              if (rows.length > 0) await transaction.rows(writeSql);
              return rows;
            },
            commit: look,
            within: null,
          }),
        );
        if (found.length > 0) return true;
        looks += 1;
      } catch (failure) {
        if (!(storeError(failure) instanceof StoreUnavailableError)) throw failure;
        // The transaction was found, but the commit that would confirm it was not answered either.
        if (look.isSent) return false;
      }
      await sleep(provePauseMs);
    }
    return false;
  }
}

async function rollBack(connection: Connection): Promise<void> {
  try {
    connection.plans?.rolledBack();
    await connection.query({ text: "ROLLBACK" });
  } catch {
    // The server rolls back when the connection is closed.
    connection.isBroken = true;
  }
}

/** Returns the error for the caller, which says whether nothing was written or the outcome is unknown. */
function outcomeOf(error: unknown, commit: Commit): unknown {
  const isUnknown = commit.isSent && (isConnectionLoss(error) || isUnreplicated(error));
  if (!isUnknown) return error;
  return new StoreUnavailableError(`${messageOf(storeError(error))}; it is unknown whether it was written`, {
    cause: error,
    outcome: "unknown",
  });
}

/** Checked before anything is sent. */
function assertWithin({ incarnation }: Connection, within: Incarnation | null): void {
  if (within !== null && incarnation !== within) throw new IncarnationChangedError();
}

interface TransactionParts<Result> {
  readonly work: (transaction: Transaction) => Promise<Result>;
  readonly commit: Commit;
  readonly within: Incarnation | null;
  readonly bounds?: ServerBounds | undefined;
}

/** The progress of a transaction. */
interface Commit {
  isSent: boolean;
  result?: unknown;
  proof?: { readonly sql: string; readonly values: readonly Value[] };
}

interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

interface Asked extends Statement {
  readonly answer: PromiseWithResolvers<Rows>;
}

interface Session {
  /** Sends only BEGIN. */
  readonly begin: () => Promise<void>;
  readonly run: (statement: Statement) => Promise<Rows>;
  /**
   * Sends the statements together, after BEGIN unless the transaction has `begun`. Returns null if that is impossible;
   * nothing is sent in that case.
   */
  readonly together:
    | ((statements: readonly Statement[], begun: boolean) => Promise<readonly Rows[] | null>)
    | null;
}

/**
 * The statements of one transaction, in the order in which they are requested. Statements that are requested before one
 * of them is awaited are sent together, and BEGIN is sent with the first. Each saved round trip saves CPU time on both
 * sides.
 */
export class GatheredStatements {
  readonly #session: Session;
  #waiting: Asked[] = [];
  #isBegun = false;
  #sent: Promise<void> = Promise.resolve();
  /**
   * Set when a statement has failed or the transaction has ended, with the reason. Nothing more is sent after that,
   * because it would run outside the transaction.
   */
  #over: { readonly reason: unknown } | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  rows({ sql, values }: Statement): Promise<Rows> {
    const answer = Promise.withResolvers<Rows>();
    this.#waiting.push({ sql, values, answer });
    if (this.#waiting.length === 1) this.#sent = this.#sent.then(() => this.#send());
    return answer.promise;
  }

  /** Sends BEGIN only once, regardless of how often it is called. */
  async begin(): Promise<void> {
    if (this.#isBegun) return;
    this.#isBegun = true;
    await this.#session.begin();
  }

  /** Must be called before the transaction is committed or rolled back. */
  end(reason: unknown): void {
    this.#over ??= { reason };
  }

  async #send(): Promise<void> {
    const asked = this.#waiting;
    this.#waiting = [];
    try {
      this.#assertRunning();
      const together = (await this.#session.together?.(asked, this.#isBegun)) ?? null;
      if (together === null) return await this.#sendEach(asked);
      this.#isBegun = true;
      for (const [at, { answer }] of asked.entries()) answer.resolve(together[at] ?? []);
    } catch (error) {
      this.end(error);
      for (const { answer } of asked) answer.reject(error);
    }
  }

  async #sendEach(asked: readonly Asked[]): Promise<void> {
    await this.begin();
    for (const { answer, ...statement } of asked) {
      this.#assertRunning();
      answer.resolve(await this.#session.run(statement));
    }
  }

  #assertRunning(): void {
    if (this.#over !== null) throw this.#over.reason;
  }
}
