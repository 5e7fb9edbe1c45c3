/**
 * Responses to API calls with an `Idempotency-Key`, kept for a day so that a repeat gets the same response (IDK-18 to
 * 23). Claiming is atomic: of two calls with one key, only one runs.
 *
 * A claim has a token that is unique to one call. A call that lost its claim can neither finish nor release the claim
 * of another call. `begin`, `finish` and `abandon` are idempotent for the same token, so each may be retried if its
 * response was lost. The claim of a dead process is released when it expires, or immediately if the store detects that
 * the process has exited.
 */
export interface IdempotencyStore {
  /** Claims the key, or returns its state. An expired entry counts as absent. */
  begin(entry: IdempotencyClaim): Promise<IdempotencyState>;
  /** Extends the claims of calls that are still running. */
  renew(claims: readonly ClaimedKey[], claimUntil: number): Promise<void>;
  finish(answer: IdempotencyAnswer): Promise<void>;
  /** Removes the claim of a call that failed without an effect. */
  abandon(claim: ClaimedKey): Promise<void>;
}

/** A key claimed by one call. */
export interface ClaimedKey {
  /** API key and route. Idempotency keys of one API key never collide with those of another (IDK-30). */
  readonly scope: string;
  readonly key: string;
  /** A value that is unique to the call. */
  readonly claimToken: string;
}

/** A call that wants to claim a key. Times are Unix milliseconds. */
export interface IdempotencyClaim extends ClaimedKey {
  /** SHA-256 of method, path and body. */
  readonly fingerprint: string;
  readonly now: number;
  /**
   * When the claim expires. A claim that has not been renewed by then was abandoned by a crash and may be taken over.
   */
  readonly claimUntil: number;
  readonly expiresAt: number;
}

/** Whether the call may run. `finished` contains the response to send to the repeat. */
export type IdempotencyState =
  | { readonly kind: "claimed" }
  | { readonly kind: "running" }
  | { readonly kind: "mismatch" }
  | { readonly kind: "finished"; readonly status: number; readonly body: string };

/** The response for repeats. */
export interface IdempotencyAnswer extends ClaimedKey {
  readonly status: number;
  readonly body: string;
}
