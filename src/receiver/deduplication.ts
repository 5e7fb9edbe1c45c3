import { deserializeStored, isFinal, serializeStored, type StoredAnswer } from "./answers.ts";
import { ReceiverError } from "./receiver-error.ts";

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
   * Stores the result of a claim. Returns true even if the claim has expired, as long as no other caller took the key.
   * Returns false and changes nothing if another caller took the key, or if it was already finished.
   */
  finish(completion: DeduplicationCompletion): Promise<boolean>;
  /** Removes a claim, so that the key can be claimed again. Completed keys and claims of other callers stay. */
  release(key: string, token: string): Promise<void>;
  /** Removes a batch of expired entries and returns their number. The receiver calls it occasionally. */
  purge(now: number): Promise<number>;
}

export interface DeduplicationClaim {
  /** 1 to 64 characters of `[0-9a-f]`. */
  readonly key: string;
  /**
   * Digest of the message's content: a known key with a different fingerprint belongs to a different message. Up to 64
   * characters.
   */
  readonly fingerprint: string;
  /** Unique for this claim. */
  readonly token: string;
  readonly now: number;
  /** When the claim expires. */
  readonly expiresAt: number;
}

export interface DeduplicationCompletion extends DeduplicationClaim {
  /** Any string; returned unchanged. */
  readonly result: string;
}

export type ClaimOutcome =
  | { readonly kind: "claimed" }
  /** Another caller holds the key, until `expiresAt` at the latest. */
  | { readonly kind: "running"; readonly expiresAt: number }
  | { readonly kind: "completed"; readonly result: string }
  /** The key belongs to a running or completed message with another fingerprint. */
  | { readonly kind: "mismatch" };

/**
 * The stored state of a key that is claimed or completed and has not expired. `result` is null while the claim is
 * running.
 */
export interface DeduplicationEntry {
  readonly fingerprint: string;
  readonly result: string | null;
  readonly expiresAt: number;
}

/** The outcome of a claim with this fingerprint, given the existing entry. */
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
type TransactionWork<Transaction, Result> = (scope: {
  readonly transaction: Transaction;
  readonly store: DeduplicationStore;
}) => Promise<Result>;

/** Runs the work of a message, or determines why it must not run. */
export interface Deduplication<Transaction> {
  /** `keys` are store keys; the message is new only if all of them are. */
  run(
    keys: readonly string[],
    fingerprint: string,
    work: (transaction: Transaction | undefined) => Promise<StoredAnswer>,
  ): Promise<DeduplicatedAnswer>;
}

export type DeduplicatedAnswer =
  | { readonly kind: "ran"; readonly answer: StoredAnswer }
  | { readonly kind: "replayed"; readonly answer: StoredAnswer }
  | { readonly kind: "running" }
  | { readonly kind: "mismatch" };

interface DeduplicationSetup<Transaction> {
  readonly store?: DeduplicationStore | undefined;
  readonly inTransaction?: InTransaction<Transaction> | undefined;
  /** How long a completed key is kept. */
  readonly retentionMs: number;
  /** After this time a claim is treated as abandoned by a crashed process. */
  readonly claimMs: number;
  /** In Unix milliseconds. */
  readonly now: () => number;
  /** Receives errors that occur after the response was decided. */
  readonly onError: (error: unknown) => void;
}

const purgeIntervalMs = 60_000;

/** Claims before the work and finishes after it; see {@link DeduplicationStore} for the guarantees. */
export function createDeduplication<Transaction>(
  setup: DeduplicationSetup<Transaction>,
): Deduplication<Transaction> {
  const { store, inTransaction, now } = setup;
  let purgedAt = now();

  const purgeNowAndThen = async (used: DeduplicationStore): Promise<void> => {
    if (now() - purgedAt < purgeIntervalMs) return;
    purgedAt = now();
    await used.purge(now());
  };

  if (inTransaction !== undefined) {
    return {
      run: (keys, fingerprint, work) =>
        withRollback(inTransaction, async ({ transaction, store: inside }) => {
          const claims = new Claims(inside, setup, keys, fingerprint);
          const refusal = await claims.take();
          if (refusal !== null) return refusal;
          const answer = await work(transaction);
          // The rollback removes the claim together with the handler's writes.
          if (!isFinal(answer)) throw new RolledBack(answer);
          await claims.finish(answer);
          await purgeNowAndThen(inside);
          return { kind: "ran", answer };
        }),
    };
  }
  if (store === undefined) throw new ReceiverError("misconfigured", "deduplication has no store");
  return {
    run: async (keys, fingerprint, work) => {
      const claims = new Claims(store, setup, keys, fingerprint);
      const refusal = await claims.take().catch(unavailable);
      if (refusal !== null) return refusal;
      const answer = await workOrRelease(claims, work);
      // The handler has already run, so a store error must not change the response.
      await (isFinal(answer) ? claims.finish(answer) : claims.release()).catch(setup.onError);
      await purgeNowAndThen(store).catch(setup.onError);
      return { kind: "ran", answer };
    },
  };

  async function workOrRelease(
    claims: Claims,
    work: (transaction: undefined) => Promise<StoredAnswer>,
  ): Promise<StoredAnswer> {
    try {
      return await work(undefined);
    } catch (error) {
      await claims.release().catch(setup.onError);
      throw error;
    }
  }
}

/** The claims of one message under all its keys. */
class Claims {
  readonly #store: DeduplicationStore;
  readonly #setup: Pick<DeduplicationSetup<unknown>, "retentionMs" | "claimMs" | "now" | "onError">;
  readonly #keys: readonly string[];
  readonly #fingerprint: string;
  readonly #token = globalThis.crypto.randomUUID();
  readonly #held: string[] = [];

  constructor(
    store: DeduplicationStore,
    setup: Pick<DeduplicationSetup<unknown>, "retentionMs" | "claimMs" | "now" | "onError">,
    keys: readonly string[],
    fingerprint: string,
  ) {
    this.#store = store;
    this.#setup = setup;
    this.#keys = keys;
    this.#fingerprint = fingerprint;
  }

  /** Claims all keys and returns null. If a key cannot be claimed, releases the others and returns the reason. */
  async take(): Promise<DeduplicatedAnswer | null> {
    for (const key of this.#keys) {
      const outcome = await this.#claim(key);
      const refusal = refusalOf(outcome);
      if (refusal !== null) {
        await this.release();
        return refusal;
      }
      this.#held.push(key);
    }
    return null;
  }

  async #claim(key: string): Promise<ClaimOutcome> {
    try {
      return await this.#store.claim({ key, ...this.#claimUntil(this.#setup.claimMs) });
    } catch (error) {
      // Release the keys that were claimed, so that the sender's next attempt is not delayed.
      await this.release().catch(this.#setup.onError);
      throw error;
    }
  }

  async finish(answer: StoredAnswer): Promise<void> {
    const result = serializeStored(answer);
    for (const key of this.#held) {
      await this.#store.finish({ key, result, ...this.#claimUntil(this.#setup.retentionMs) });
    }
  }

  async release(): Promise<void> {
    for (const key of this.#held) await this.#store.release(key, this.#token);
  }

  #claimUntil(durationMs: number) {
    const now = this.#setup.now();
    return { fingerprint: this.#fingerprint, token: this.#token, now, expiresAt: now + durationMs };
  }
}

function refusalOf(outcome: ClaimOutcome): DeduplicatedAnswer | null {
  switch (outcome.kind) {
    case "claimed":
      return null;
    case "completed":
      return { kind: "replayed", answer: deserializeStored(outcome.result) };
    default:
      return { kind: outcome.kind };
  }
}

/** Carries a response out of a transaction that must not be committed. */
class RolledBack extends Error {
  override readonly name = "RolledBack";
  readonly answer: StoredAnswer;
  constructor(answer: StoredAnswer) {
    super("the handler did not finish the message");
    this.answer = answer;
  }
}

async function withRollback<Transaction>(
  inTransaction: InTransaction<Transaction>,
  work: TransactionWork<Transaction, unknown>,
): Promise<DeduplicatedAnswer> {
  try {
    return (await inTransaction(work)) as DeduplicatedAnswer;
  } catch (error) {
    if (error instanceof RolledBack) return { kind: "ran", answer: error.answer };
    if (error instanceof ReceiverError) throw error;
    return unavailable(error);
  }
}

/** Throws an error that lets the sender retry. Either the handler did not run, or its result was not stored. */
function unavailable(cause: unknown): never {
  throw new ReceiverError("store_unavailable", "The message cannot be recorded now.", { cause });
}
