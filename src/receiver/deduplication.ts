import type {
  ClaimOutcome,
  DeduplicationStore,
  InTransaction,
  TransactionWork,
} from "./deduplication-store.ts";
import { deserializeStored, isFinal, serializeStored, type StoredAnswer } from "./handler-answer.ts";
import { ReceiverError } from "./receiver-error.ts";

/** Runs the work of a message, or determines why it must not run. */
export interface Deduplication<Transaction> {
  run(
    identity: {
      /** Store keys; the message is new only if all of them are. */
      readonly keys: readonly string[];
      readonly fingerprint: string;
    },
    work: (transaction: Transaction | undefined) => Promise<StoredAnswer>,
  ): Promise<DeduplicatedAnswer>;
}

export type DeduplicatedAnswer =
  | { readonly kind: "ran"; readonly answer: StoredAnswer }
  | { readonly kind: "replayed"; readonly answer: StoredAnswer }
  | { readonly kind: "running" }
  | { readonly kind: "mismatch" };

export interface DeduplicationSetup<Transaction> {
  readonly store?: DeduplicationStore | undefined;
  readonly inTransaction?: InTransaction<Transaction> | undefined;
  /** How long a completed key is kept. */
  readonly retentionMs: number;
  /** After this time a claim is treated as abandoned by a crashed process. */
  readonly claimMs: number;
  /** Unix ms. */
  readonly now: () => number;
  /** Receives errors that occur after the response is decided. */
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
    await used.purge({ now: now() });
  };

  if (inTransaction !== undefined) {
    return {
      run: (identity, work) =>
        withRollback(inTransaction, async ({ transaction, store: inside }) => {
          const claims = new Claims(inside, setup, identity.keys, identity.fingerprint);
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
    run: async (identity, work) => {
      const claims = new Claims(store, setup, identity.keys, identity.fingerprint);
      const refusal = await claims.take().catch(unavailable);
      if (refusal !== null) return refusal;
      const answer = await workOrRelease(claims, work);
      // The work is already done or undone; a store error must not change the response.
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

  /** Null if all keys were claimed. Otherwise the reason, and no key is held. */
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
      // Release the keys that were claimed, so that they do not delay the sender's next attempt.
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
    for (const key of this.#held) await this.#store.release({ key, token: this.#token });
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

/** Nothing ran, or nothing of it was stored, so the sender may retry. */
function unavailable(cause: unknown): never {
  throw new ReceiverError("store_unavailable", "The message cannot be recorded now.", { cause });
}
