import type {
  AnswerClaim,
  AnswerCompletion,
  AnswerOutcome,
  AnswerStore,
  ReceivedRequest,
} from "../../../ports/store/gateway.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { holdCalls } from "../../documents/gateway.ts";
import { answerOutcome, type AnswerRow, heldOf, requestDocument } from "../../gateway-rows.ts";
import { numbers, texts } from "../driver/columns.ts";
import type { Database, Runner, Transaction } from "../driver/database.ts";
import { runCalls } from "../driver/sql.ts";

/** An expired claim may be taken over. */
const claimSql = `INSERT INTO posthorn.gateway_answers AS known VALUES ($1, $2, $3, $4, NULL)
  ON CONFLICT (key) DO UPDATE SET fingerprint = $2, claim_token = $3, expires_at = $4, document = NULL
  WHERE known.expires_at <= $5 RETURNING key`;

/** Claims and answers are rows, because other processes look up the same keys. */
export class GatewayAnswers implements AnswerStore {
  readonly #database: Database;
  readonly #maintenance: Database;

  constructor(database: Database, maintenance: Database) {
    this.#database = database;
    this.#maintenance = maintenance;
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
    const sql = "DELETE FROM posthorn.gateway_answers WHERE key = $1 AND claim_token = $2";
    await this.#database.rows(sql, [key, token]);
  }

  async purge(now: number, limit: number): Promise<StepResult> {
    const rows = await this.#maintenance.rows(
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
    `UPDATE posthorn.gateway_answers a SET document = g.result, claim_token = NULL, expires_at = g.expires_at
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS g (key, token, expires_at, result)
     WHERE a.key = g.key AND a.claim_token = g.token RETURNING a.key`,
    [
      texts(completions.map(({ key }) => key)),
      texts(completions.map(({ token }) => token)),
      numbers(completions.map(({ expiresAt }) => expiresAt)),
      texts(completions.map(({ result }) => result)),
    ],
  );
  return rows.length;
}

/** Bodies are rare, and only in rows that are not written by a commit, so they are sent as hexadecimal text. */
const insertSql = `INSERT INTO posthorn.gateway_requests AS known
  SELECT id, tenant, source, received_at, status, outcome, cause, bookmark, document, decode(body, 'hex')
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::int[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[])
    AS r (id, tenant, source, received_at, status, outcome, cause, bookmark, document, body)
  ORDER BY id`;

const keptSql = `${insertSql} ON CONFLICT DO NOTHING`;
const replacedSql = `${insertSql} ON CONFLICT (id) DO UPDATE SET status = excluded.status,
  outcome = excluded.outcome, cause = excluded.cause, document = excluded.document`;

/** Rows of the gateway's log and of held messages. An existing row is kept, or replaced except for its body. */
export async function writeRequests(
  transaction: Transaction,
  { requests, replaces }: { readonly requests: readonly ReceivedRequest[]; readonly replaces: boolean },
): Promise<void> {
  if (requests.length === 0) return;
  await transaction.rows(replaces ? replacedSql : keptSql, [
    texts(requests.map(({ id }) => id)),
    texts(requests.map(({ tenantId }) => tenantId)),
    texts(requests.map(({ sourceId }) => sourceId)),
    numbers(requests.map(({ receivedAt }) => receivedAt)),
    numbers(requests.map(({ status }) => status)),
    texts(requests.map(({ outcome }) => outcome)),
    texts(requests.map(({ cause }) => cause)),
    texts(requests.map(({ bookmark }) => bookmark)),
    texts(requests.map(requestDocument)),
    texts(requests.map(({ body }) => (body === null ? null : Buffer.from(body).toString("hex")))),
  ]);
  await runCalls(transaction, holdCalls(requests.flatMap(heldOf)));
}
