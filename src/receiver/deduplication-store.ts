/**
 * Records which messages are being processed or are done. One mechanism serves deduplication by message id and the
 * Idempotency-Key header.
 *
 * Guarantees of every implementation:
 * - of any number of concurrent claims of one key, in any number of processes, exactly one is `claimed`;
 * - the claimant holds the key until `finish`, `release` or `expiresAt`, whichever comes first, so the claims of a
 *   crashed process expire;
 * - only the newest token can finish or release a key, so a process that lost its claim changes nothing;
 * - a completed key returns `completed` with the same result until its `expiresAt`, and is treated as absent
 *   afterwards;
 * - time comes from the caller: `now` and `expiresAt` are Unix ms of the caller's clock.
 *
 * A rejected call means that the store is unavailable; the receiver then answers 503 and runs nothing.
 */
export interface DeduplicationStore {
  claim(request: DeduplicationClaim): Promise<ClaimOutcome>;
  /**
   * Stores the result of a claim. Also true if the claim has expired but no other caller took the key. False if another
   * caller took it, or if the key was already finished; then nothing changes.
   */
  finish(completion: DeduplicationCompletion): Promise<boolean>;
  /** Removes a claim, so that the key can be claimed again. Completed keys and claims of other callers stay. */
  release(claim: { readonly key: string; readonly token: string }): Promise<void>;
  /** Removes some expired entries and returns how many. The receiver calls it from time to time. */
  purge(request: { readonly now: number }): Promise<number>;
}

export interface DeduplicationClaim {
  /** 1 to 64 characters of `[0-9a-f]`. */
  readonly key: string;
  /** Digest of the message's content: another fingerprint under a known key is another message. Up to 64 characters. */
  readonly fingerprint: string;
  /** Unique for this claim. */
  readonly token: string;
  readonly now: number;
  /** When the claim expires. */
  readonly expiresAt: number;
}

export interface DeduplicationCompletion extends DeduplicationClaim {
  /** Any text; returned unchanged. */
  readonly result: string;
}

export type ClaimOutcome =
  | { readonly kind: "claimed" }
  /** Another caller holds the key, until `expiresAt` at the latest. */
  | { readonly kind: "running"; readonly expiresAt: number }
  | { readonly kind: "completed"; readonly result: string }
  /** The key belongs to a running or completed message with another fingerprint. */
  | { readonly kind: "mismatch" };

/** The stored state of a key that is neither expired nor free. `result` is null while the claim is running. */
export interface DeduplicationEntry {
  readonly fingerprint: string;
  readonly result: string | null;
  readonly expiresAt: number;
}

/** The outcome of a claim with this fingerprint if the entry exists. */
export function outcomeOf(entry: DeduplicationEntry, fingerprint: string): ClaimOutcome {
  if (entry.fingerprint !== fingerprint) return { kind: "mismatch" };
  if (entry.result !== null) return { kind: "completed", result: entry.result };
  return { kind: "running", expiresAt: entry.expiresAt };
}

/**
 * Opens a transaction of the application and runs `work` in it, with a store that works inside that transaction. Claim,
 * handler and result are then committed together or not at all. Commits when `work` resolves; rolls back and rejects
 * with the same error when it rejects.
 */
export type InTransaction<Transaction> = <Result>(
  work: TransactionWork<Transaction, Result>,
) => Promise<Result>;

/** Work inside a transaction, with a store that uses the same transaction. */
export type TransactionWork<Transaction, Result> = (scope: {
  readonly transaction: Transaction;
  readonly store: DeduplicationStore;
}) => Promise<Result>;
