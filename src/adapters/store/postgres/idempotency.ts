import type {
  IdempotencyAnswer,
  IdempotencyClaim,
  IdempotencyState,
  IdempotencyStore,
} from "../../../ports/store/idempotency.ts";
import { storable } from "./columns.ts";
import type { Database } from "./database.ts";

type EntryRow = [fingerprint: string, status: number | null, body: string | null];

/** How often to look again when the entry that was in the way is gone by the time it is read. */
const triesMax = 5;

/** Answers of calls by key, for the API. The row is the lock: who writes it makes the call, others find it running. */
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

  async finish(answer: IdempotencyAnswer): Promise<void> {
    await this.#database.rows(
      "UPDATE posthorn.idempotency SET status = $3, body = $4 WHERE scope = $1 AND key = $2",
      [storable(answer.scope), storable(answer.key), answer.status, storable(answer.body)],
    );
  }

  async abandon(query: { readonly scope: string; readonly key: string }): Promise<void> {
    await this.#database.rows(
      "DELETE FROM posthorn.idempotency WHERE scope = $1 AND key = $2 AND status IS NULL",
      [storable(query.scope), storable(query.key)],
    );
  }

  /** One statement, so that of two processes one gets it: a free key, one that expired, or one a crash left behind. */
  async #take(entry: IdempotencyClaim): Promise<boolean> {
    const rows = await this.#database.rows(
      `INSERT INTO posthorn.idempotency AS i (scope, key, fingerprint, claim_until, expires_at)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (scope, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = NULL, body = NULL,
         claim_until = excluded.claim_until, expires_at = excluded.expires_at
       WHERE i.expires_at <= $6
         OR (i.fingerprint = excluded.fingerprint AND i.status IS NULL AND i.claim_until <= $6)
       RETURNING 1`,
      [
        ...[storable(entry.scope), storable(entry.key), entry.fingerprint],
        ...[entry.claimUntil, entry.expiresAt, entry.now],
      ],
    );
    return rows.length > 0;
  }
}

function stateOf(row: EntryRow | undefined, entry: IdempotencyClaim): IdempotencyState {
  if (row === undefined) return { kind: "running" };
  const [fingerprint, status, body] = row;
  if (fingerprint !== entry.fingerprint) return { kind: "mismatch" };
  if (status !== null) return { kind: "finished", status, body: body ?? "" };
  return { kind: "running" };
}
