import type { Value } from "./database.ts";
import type { Rows } from "./statement-batch.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

interface Asked extends Statement {
  readonly answer: PromiseWithResolvers<Rows>;
}

interface Session {
  /** Sends BEGIN alone. */
  readonly begin: () => Promise<void>;
  readonly run: (statement: Statement) => Promise<Rows>;
  /**
   * Sends the statements together, after BEGIN unless the transaction has `begun`. Returns null, with nothing sent, if
   * that is impossible.
   */
  readonly together:
    | ((statements: readonly Statement[], begun: boolean) => Promise<readonly Rows[] | null>)
    | null;
}

/**
 * The statements of one transaction, in the order in which they are requested. Statements requested before the program
 * awaits one of them are sent together, and BEGIN with the first. Each saved round trip saves processor time on both
 * sides.
 */
export class GatheredStatements {
  readonly #session: Session;
  #waiting: Asked[] = [];
  #isBegun = false;
  #sent: Promise<void> = Promise.resolve();
  /** Why nothing is sent any more: it would run outside the transaction. */
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

  /** Sends BEGIN once, however often it is called. */
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
