import type { StatementSync } from "node:sqlite";
import type {
  ClaimedKey,
  IdempotencyAnswer,
  IdempotencyClaim,
  IdempotencyState,
  IdempotencyStore,
} from "../../../ports/store/idempotency.ts";
import { answerOf } from "../../document-rows.ts";
import type { Connection } from "../driver/connection.ts";

type EntryRow = [fingerprint: string, expiresAt: number, status: number | null, body: string | null];

/** The call that claims a key, and when its claim ends unless renewed. */
interface Held {
  readonly claimToken: string;
  until: number;
}

/**
 * Rows are in the file, claims in memory. One process owns the folder, so claims end with the process. A row that has
 * neither a response nor a claim was left behind by an earlier process.
 */
export class SqliteIdempotency implements IdempotencyStore {
  readonly #connection: Connection;
  readonly #held = new Map<string, Held>();
  readonly #find: StatementSync;
  readonly #claim: StatementSync;
  readonly #finish: StatementSync;
  readonly #abandon: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#find = connection.prepare(
      "SELECT fingerprint, expires_at, status, body FROM idempotency WHERE scope = ? AND key = ?",
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
    const { scope, key, claimToken, fingerprint, claimUntil, expiresAt } = entry;
    const state = this.#connection.write((): IdempotencyState => {
      const row = this.#find.get(scope, key) as unknown as EntryRow | undefined;
      const known = row === undefined ? null : this.#stateOf(row, entry);
      if (known !== null) return known;
      this.#claim.run(scope, key, fingerprint, claimUntil, expiresAt);
      return { kind: "claimed" };
    });
    if (state.kind === "claimed") this.#held.set(nameOf(entry), { claimToken, until: claimUntil });
    return state;
  }

  async renew(claims: readonly ClaimedKey[], claimUntil: number): Promise<void> {
    for (const claim of claims) {
      const held = this.#heldBy(claim);
      if (held !== null) held.until = claimUntil;
    }
  }

  async finish(answer: IdempotencyAnswer): Promise<void> {
    if (this.#heldBy(answer) === null) return;
    this.#connection.write(() => this.#finish.run(answer.status, answer.body, answer.scope, answer.key));
    this.#held.delete(nameOf(answer));
  }

  async abandon(claim: ClaimedKey): Promise<void> {
    if (this.#heldBy(claim) === null) return;
    this.#connection.write(() => this.#abandon.run(claim.scope, claim.key));
    this.#held.delete(nameOf(claim));
  }

  #heldBy(claim: ClaimedKey): Held | null {
    const held = this.#held.get(nameOf(claim));
    return held?.claimToken === claim.claimToken ? held : null;
  }

  /**
   * The response that an entry provides for a call; null if the call may take the key, because the entry expired or was
   * left behind by a crash.
   */
  #stateOf(row: EntryRow, entry: IdempotencyClaim): IdempotencyState | null {
    const [fingerprint, expiresAt, status, body] = row;
    if (expiresAt <= entry.now) return null;
    const answer = answerOf(fingerprint, status, body, entry);
    if (answer !== null) return answer;
    const held = this.#held.get(nameOf(entry));
    if (held === undefined || held.claimToken === entry.claimToken) return null;
    return held.until > entry.now ? { kind: "running" } : null;
  }
}

function nameOf({ scope, key }: Pick<ClaimedKey, "scope" | "key">): string {
  return `${scope}\n${key}`;
}
