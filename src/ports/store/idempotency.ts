/**
 * Answers of API calls that carried an `Idempotency-Key`, kept for a day so that a repeat gets the same answer
 * (IDK-18 to 23). Claiming is atomic: of two calls with one key, one runs.
 */
export interface IdempotencyStore {
  /** Claims the key, or says what became of it. An expired entry counts as absent. */
  begin(entry: IdempotencyClaim): Promise<IdempotencyState>;
  finish(answer: IdempotencyAnswer): Promise<void>;
  /** The call failed without an effect: forget the claim. */
  abandon(query: { readonly scope: string; readonly key: string }): Promise<void>;
}

/** A call that wants to run under a key. Times are Unix milliseconds. */
export interface IdempotencyClaim {
  /** Key holder and route; keys of one holder never meet those of another (IDK-30). */
  readonly scope: string;
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly fingerprint: string;
  readonly now: number;
  /** A claim without an answer after this time was abandoned by a crash and may be taken again. */
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
export interface IdempotencyAnswer {
  readonly scope: string;
  readonly key: string;
  readonly status: number;
  readonly body: string;
}
