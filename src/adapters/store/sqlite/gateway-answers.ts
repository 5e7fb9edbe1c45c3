import type { StatementSync } from "node:sqlite";
import type {
  AnswerClaim,
  AnswerCompletion,
  AnswerOutcome,
  AnswerStore,
} from "../../../ports/store/gateway.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { answerOutcome, type AnswerRow } from "../gateway-rows.ts";
import type { Connection } from "./connection.ts";
import { GroupedWrites } from "./grouped-writes.ts";
import { StatementCache } from "./statement-cache.ts";

const statements = {
  find: `SELECT fingerprint, expires_at, document FROM gateway_answers
    WHERE key = ? AND expires_at > ? AND document IS NOT NULL`,
  keep: "INSERT OR REPLACE INTO gateway_answers VALUES (?, ?, NULL, ?, ?)",
  purge: `DELETE FROM gateway_answers WHERE key IN
    (SELECT key FROM gateway_answers WHERE expires_at <= ? LIMIT ?)`,
} as const;

/**
 * Answers are rows, claims are in memory. No other process has the file, so claims end with the process. A forwarded
 * message costs one write, of its answer.
 */
export class GatewayAnswers implements AnswerStore {
  readonly #connection: Connection;
  readonly #statements: StatementCache;
  readonly #grouped: GroupedWrites;
  readonly #claims = new Map<string, AnswerClaim>();
  /** Keys whose answers the current transaction writes. */
  readonly #keeping = new Set<string>();

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#statements = new StatementCache(connection);
    this.#grouped = new GroupedWrites(connection);
    connection.join({
      afterCommit: () => {
        for (const key of this.#keeping) this.#claims.delete(key);
        this.#keeping.clear();
      },
      afterRollback: () => this.#keeping.clear(),
    });
  }

  async claim(claim: AnswerClaim): Promise<AnswerOutcome> {
    const { key, fingerprint, now } = claim;
    const held = this.#claims.get(key);
    if (held !== undefined && held.expiresAt > now)
      return answerOutcome([held.fingerprint, held.expiresAt, null], fingerprint);
    const row = this.#connection.readOne(() => this.#sql("find").get(key, now));
    if (row !== undefined) return answerOutcome(row as unknown as AnswerRow, fingerprint);
    // Do not forward a message whose answer could not be written.
    this.#connection.checkWritable();
    this.#claims.set(key, claim);
    return { kind: "claimed" };
  }

  finish(completion: AnswerCompletion): Promise<boolean> {
    return this.#grouped.run(() => this.keep(completion));
  }

  /** Only inside a write. False when another call took the key. */
  keep({ key, token, fingerprint, expiresAt, result }: AnswerCompletion): boolean {
    if (this.#claims.get(key)?.token !== token || this.#keeping.has(key)) return false;
    this.#sql("keep").run(key, fingerprint, expiresAt, result);
    this.#keeping.add(key);
    return true;
  }

  async release(key: string, token: string): Promise<void> {
    if (this.#claims.get(key)?.token === token) this.#claims.delete(key);
  }

  async purge(now: number, limit: number): Promise<StepResult> {
    const ended = [...this.#claims.values()].filter(({ expiresAt }) => expiresAt <= now);
    for (const { key } of ended) this.#claims.delete(key);
    const removed = Number(this.#connection.write(() => this.#sql("purge").run(now, limit)).changes);
    return { changed: ended.length + removed, more: removed >= limit };
  }

  #sql(name: keyof typeof statements): StatementSync {
    return this.#statements.get(statements[name]);
  }
}
