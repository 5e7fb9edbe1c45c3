import type {
  ClaimedKey,
  IdempotencyAnswer,
  IdempotencyClaim,
  IdempotencyState,
  IdempotencyStore,
} from "../../../ports/store/idempotency.ts";
import { answerOf } from "../../document-rows.ts";
import { texts } from "../driver/sql.ts";
import { storable } from "../../column-values.ts";
import type { Database } from "../driver/database.ts";

type EntryRow = [fingerprint: string, status: number | null, body: string | null];

/** Maximum number of attempts if a conflicting entry disappears before it can be read. */
const triesMax = 5;

/**
 * Responses of API calls by idempotency key. The row is the lock: the process that inserts it executes the call, and
 * others see that it is running.
 */
export class PostgresIdempotency implements IdempotencyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async begin(entry: IdempotencyClaim): Promise<IdempotencyState> {
    for (let tries = 1; ; tries += 1) {
      if (await this.#take(entry)) return { kind: "claimed" };
      const [row] = await this.#database.rows<EntryRow>(
        "SELECT fingerprint, status, body FROM posthorn.idempotency WHERE scope = $1 AND key = $2",
        [storable(entry.scope), storable(entry.key)],
      );
      if (row !== undefined || tries === triesMax) return stateOf(row, entry);
    }
  }

  async renew(claims: readonly ClaimedKey[], claimUntil: number): Promise<void> {
    // While the claim lasts, only its own call writes the row, so these statements never wait for each other.
    await this.#database.rows(
      `UPDATE posthorn.idempotency i SET claim_until = $4
       FROM unnest($1::text[], $2::text[], $3::text[]) AS c (scope, key, claim_token)
       WHERE i.scope = c.scope AND i.key = c.key AND i.claim_token = c.claim_token AND i.status IS NULL`,
      [
        texts(claims.map(({ scope }) => scope)),
        texts(claims.map(({ key }) => key)),
        texts(claims.map(({ claimToken }) => claimToken)),
        claimUntil,
      ],
    );
  }

  async finish(answer: IdempotencyAnswer): Promise<void> {
    await this.#database.rows(
      `UPDATE posthorn.idempotency SET status = $4, body = $5
       WHERE scope = $1 AND key = $2 AND claim_token = $3 AND status IS NULL`,
      [storable(answer.scope), storable(answer.key), answer.claimToken, answer.status, storable(answer.body)],
    );
  }

  async abandon(claim: ClaimedKey): Promise<void> {
    await this.#database.rows(
      "DELETE FROM posthorn.idempotency WHERE scope = $1 AND key = $2 AND claim_token = $3 AND status IS NULL",
      [storable(claim.scope), storable(claim.key), claim.claimToken],
    );
  }

  /**
   * A single statement, so that only one of two processes succeeds. It claims a key that is unused, expired or
   * abandoned after a crash. It also claims a key that the same call already claimed, if the response to the first
   * attempt was lost.
   */
  async #take(entry: IdempotencyClaim): Promise<boolean> {
    const rows = await this.#database.rows(
      `INSERT INTO posthorn.idempotency AS i (scope, key, fingerprint, claim_until, expires_at, claim_token)
       VALUES ($1, $2, $3, $4, $5, $7)
       ON CONFLICT (scope, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = NULL, body = NULL,
         claim_until = excluded.claim_until, expires_at = excluded.expires_at, claim_token = excluded.claim_token
       WHERE i.expires_at <= $6
         OR (i.fingerprint = excluded.fingerprint AND i.status IS NULL
           AND (i.claim_until <= $6 OR i.claim_token = excluded.claim_token))
       RETURNING 1`,
      [
        storable(entry.scope),
        storable(entry.key),
        entry.fingerprint,
        entry.claimUntil,
        entry.expiresAt,
        entry.now,
        entry.claimToken,
      ],
    );
    return rows.length > 0;
  }
}

function stateOf(row: EntryRow | undefined, entry: IdempotencyClaim): IdempotencyState {
  if (row === undefined) return { kind: "running" };
  const [fingerprint, status, body] = row;
  return answerOf(fingerprint, status, body, entry) ?? { kind: "running" };
}
