import type {
  AnswerClaim,
  AnswerCompletion,
  AnswerOutcome,
  AnswerStore,
} from "../../../ports/store/gateway.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { answerOutcome, type AnswerRow } from "../gateway-rows.ts";
import { numbers, texts } from "./columns.ts";
import type { Database, Runner } from "./database.ts";

/** An expired claim may be taken over. */
const claimSql = `INSERT INTO posthorn.gateway_answers AS known VALUES ($1, $2, $3, $4, NULL)
  ON CONFLICT (key) DO UPDATE SET fingerprint = $2, holder = $3, expires_at = $4, document = NULL
  WHERE known.expires_at <= $5 RETURNING key`;

/** Claims and answers are rows, because other processes look up the same keys. */
export class GatewayAnswers implements AnswerStore {
  readonly #database: Database;
  readonly #aside: Database;

  constructor(database: Database, aside: Database) {
    this.#database = database;
    this.#aside = aside;
  }

  async claim({ key, fingerprint, token, now, expiresAt }: AnswerClaim): Promise<AnswerOutcome> {
    const claimed = await this.#database.rows(claimSql, [key, fingerprint, token, expiresAt, now]);
    if (claimed.length > 0) return { kind: "claimed" };
    const [row] = await this.#database.rows<AnswerRow>(
      "SELECT fingerprint, expires_at, document FROM posthorn.gateway_answers WHERE key = $1",
      [key],
    );
    // Released in between: the next call finds it free.
    return row === undefined ? { kind: "running", expiresAt: now } : answerOutcome(row, fingerprint);
  }

  async finish(completion: AnswerCompletion): Promise<boolean> {
    return (await keepAnswers(this.#database, [completion])) > 0;
  }

  async release(key: string, token: string): Promise<void> {
    const sql = "DELETE FROM posthorn.gateway_answers WHERE key = $1 AND holder = $2";
    await this.#database.rows(sql, [key, token]);
  }

  async purge(now: number, limit: number): Promise<StepResult> {
    const rows = await this.#aside.rows(
      `DELETE FROM posthorn.gateway_answers WHERE key IN (SELECT key FROM posthorn.gateway_answers
       WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING key`,
      [now, limit],
    );
    return { changed: rows.length, more: rows.length >= limit };
  }
}

/** Returns the number of answers whose claim was still current. */
export async function keepAnswers(runner: Runner, completions: readonly AnswerCompletion[]): Promise<number> {
  if (completions.length === 0) return 0;
  const rows = await runner.rows(
    `UPDATE posthorn.gateway_answers a SET document = g.result, holder = NULL, expires_at = g.expires_at
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS g (key, token, expires_at, result)
     WHERE a.key = g.key AND a.holder = g.token RETURNING a.key`,
    [
      texts(completions.map(({ key }) => key)),
      texts(completions.map(({ token }) => token)),
      numbers(completions.map(({ expiresAt }) => expiresAt)),
      texts(completions.map(({ result }) => result)),
    ],
  );
  return rows.length;
}
