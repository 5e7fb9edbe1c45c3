import type { StatementSync } from "node:sqlite";
import type {
  IdempotencyAnswer,
  IdempotencyClaim,
  IdempotencyState,
  IdempotencyStore,
} from "../../../ports/store/idempotency.ts";
import type { Connection } from "./connection.ts";

type EntryRow = [
  fingerprint: string,
  claimUntil: number,
  expiresAt: number,
  status: number | null,
  body: string | null,
];

export class SqliteIdempotency implements IdempotencyStore {
  readonly #connection: Connection;
  readonly #find: StatementSync;
  readonly #claim: StatementSync;
  readonly #finish: StatementSync;
  readonly #abandon: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#find = connection.prepare(
      "SELECT fingerprint, claim_until, expires_at, status, body FROM idempotency WHERE scope = ? AND key = ?",
    );
    this.#claim = connection.prepare("INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, NULL, NULL)");
    this.#finish = connection.prepare(
      "UPDATE idempotency SET status = ?, body = ? WHERE scope = ? AND key = ?",
    );
    this.#abandon = connection.prepare(
      "DELETE FROM idempotency WHERE scope = ? AND key = ? AND status IS NULL",
    );
  }

  async begin(entry: IdempotencyClaim): Promise<IdempotencyState> {
    return this.#connection.write(() => {
      const { scope, key, fingerprint, claimUntil, expiresAt } = entry;
      const row = this.#find.get(scope, key) as unknown as EntryRow | undefined;
      const known = row === undefined ? null : stateOf(row, entry);
      if (known !== null) return known;
      this.#claim.run(scope, key, fingerprint, claimUntil, expiresAt);
      return { kind: "claimed" };
    });
  }

  async finish(answer: IdempotencyAnswer): Promise<void> {
    this.#connection.write(() => this.#finish.run(answer.status, answer.body, answer.scope, answer.key));
  }

  async abandon(query: { readonly scope: string; readonly key: string }): Promise<void> {
    this.#connection.write(() => this.#abandon.run(query.scope, query.key));
  }
}

/** What an entry says to a call; null when it may be taken, because it expired or a crash left it behind. */
function stateOf(row: EntryRow, entry: IdempotencyClaim): IdempotencyState | null {
  const [fingerprint, claimUntil, expiresAt, status, body] = row;
  if (expiresAt <= entry.now) return null;
  if (fingerprint !== entry.fingerprint) return { kind: "mismatch" };
  if (status !== null) return { kind: "finished", status, body: body ?? "" };
  return claimUntil > entry.now ? { kind: "running" } : null;
}
