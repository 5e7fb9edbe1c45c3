/**
 * Answers of API calls that carried an `Idempotency-Key`, kept for a day so that a repeat gets the same answer
 * (IDK-18 to 23). Claiming is atomic: of two calls with one key, one runs.
 *
 * A claim belongs to its holder, which no other call shares: who lost it can neither answer nor free it for whoever
 * has it by then. Asking, answering and abandoning once more by the same holder changes nothing, so each may be repeated
 * when an answer was lost. A claim of a process that ended is free when it runs out, or at once where the store knows
 * that the process is gone.
 */
export interface IdempotencyStore {
  /** Claims the key, or says what became of it. An expired entry counts as absent. */
  begin(entry: IdempotencyClaim): Promise<IdempotencyState>;
  /** The calls of these claims still run: they are theirs until then. */
  renew(claims: readonly ClaimedKey[], claimUntil: number): Promise<void>;
  finish(answer: IdempotencyAnswer): Promise<void>;
  /** The call failed without an effect: forget the claim. */
  abandon(claim: ClaimedKey): Promise<void>;
}

/** A key in the hands of one call. */
export interface ClaimedKey {
  /** Key holder and route; keys of one holder never meet those of another (IDK-30). */
  readonly scope: string;
  readonly key: string;
  readonly holder: string;
}

/** A call that wants to run under a key. Times are Unix milliseconds. */
export interface IdempotencyClaim extends ClaimedKey {
  /** SHA-256 of method, path and body. */
  readonly fingerprint: string;
  readonly now: number;
  /** A claim that is not renewed until then was abandoned by a crash and may be taken again. */
  readonly claimUntil: number;
  readonly expiresAt: number;
}

/** Whether the call may run; `finished` carries the answer to repeat. */
export type IdempotencyState =
  | { readonly kind: "claimed" }
  | { readonly kind: "running" }
  | { readonly kind: "mismatch" }
  | { readonly kind: "finished"; readonly status: number; readonly body: string };

/** The answer that repeats will get. */
export interface IdempotencyAnswer extends ClaimedKey {
  readonly status: number;
  readonly body: string;
}
