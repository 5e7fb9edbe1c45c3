/**
 * Remembers which messages are being processed or are done. One mechanism serves deduplication by message id (TS16-84)
 * and the Idempotency-Key header (IDK-15 to 20).
 *
 * Promises of every implementation, proved by test/conformance/deduplication:
 * - of any number of claims of one key at the same time, in any number of processes, exactly one is `claimed`;
 * - whoever was told `claimed` holds the key until `finish`, `release` or `expiresAt`, whichever comes first, so what a
 *   crashed process left behind frees itself;
 * - only the newest token can finish or release a key, so a process that lost its claim changes nothing;
 * - a completed key answers `completed` with the same result until its `expiresAt`, and is as good as absent afterwards;
 * - time is what the caller says it is: `now` and `expiresAt` are Unix ms of the caller's clock.
 *
 * A rejected call means that the store cannot serve; the receiver then answers 503 and runs nothing.
 */
export interface DeduplicationStore {
  claim(request: DeduplicationClaim): Promise<ClaimOutcome>;
  /**
   * Stores the result of a claim. True also when the claim has expired but nobody else took the key; false when somebody
   * did, or when the key was finished already, and then nothing changes.
   */
  finish(completion: DeduplicationCompletion): Promise<boolean>;
  /** Forgets a claim, so that the next one runs. A completed key and somebody else's claim stay. */
  release(claim: { readonly key: string; readonly token: string }): Promise<void>;
  /** Removes some of what has expired; returns how many. The receiver calls it now and then. */
  purge(request: { readonly now: number }): Promise<number>;
}

export interface DeduplicationClaim {
  /** 1 to 64 characters of `[0-9a-f]`. */
  readonly key: string;
  /** What the message says: another fingerprint under a known key is another message. At most 64 characters. */
  readonly fingerprint: string;
  /** Names this claim and no other. */
  readonly token: string;
  readonly now: number;
  /** Until when the claim is held. */
  readonly expiresAt: number;
}

export interface DeduplicationCompletion extends DeduplicationClaim {
  /** Any text; comes back as it is. */
  readonly result: string;
}

export type ClaimOutcome =
  | { readonly kind: "claimed" }
  /** Somebody else holds the key, until `expiresAt` at the latest. */
  | { readonly kind: "running"; readonly expiresAt: number }
  | { readonly kind: "completed"; readonly result: string }
  /** The key belongs to a message with another fingerprint, running or completed. */
  | { readonly kind: "mismatch" };

/** What a store knows of a key that is neither expired nor free. `result` is null while the claim is running. */
export interface DeduplicationEntry {
  readonly fingerprint: string;
  readonly result: string | null;
  readonly expiresAt: number;
}

/** What a claim with this fingerprint is told about an entry that is in its way. */
export function outcomeOf(entry: DeduplicationEntry, fingerprint: string): ClaimOutcome {
  if (entry.fingerprint !== fingerprint) return { kind: "mismatch" };
  if (entry.result !== null) return { kind: "completed", result: entry.result };
  return { kind: "running", expiresAt: entry.expiresAt };
}

/**
 * Opens a transaction of the application and runs `work` in it, with a store that works inside that transaction: claim,
 * handler and result are then committed together or not at all. Commits when `work` resolves, rolls back and rejects
 * with the same error when it rejects.
 */
export type InTransaction<Transaction> = <Result>(
  work: TransactionWork<Transaction, Result>,
) => Promise<Result>;

/** What is done in a transaction, with a store that works inside it. */
export type TransactionWork<Transaction, Result> = (scope: {
  readonly transaction: Transaction;
  readonly store: DeduplicationStore;
}) => Promise<Result>;
