/**
 * Responses to API calls with an `Idempotency-Key`, kept for a day so that a repeat gets the same response (IDK-18 to
 * 23). Claiming is atomic: of two calls with one key, one runs.
 *
 * A claim has a token that is unique to one call. A call that lost its claim can neither answer nor free the claim of
 * another call. `begin`, `finish` and `abandon` are idempotent for the same token, so each may be retried if a reply was
 * lost. The claim of a dead process is free when it expires, or at once if the store knows that the
 * process is gone.
 */
export interface IdempotencyStore {
  /** Claims the key, or returns its state. An expired entry counts as absent. */
  begin(entry: IdempotencyClaim): Promise<IdempotencyState>;
  /** Extends the claims of calls that are still running. */
  renew(claims: readonly ClaimedKey[], claimUntil: number): Promise<void>;
  finish(answer: IdempotencyAnswer): Promise<void>;
  /** The call failed without an effect: removes the claim. */
  abandon(claim: ClaimedKey): Promise<void>;
}

/** A key claimed by one call. */
export interface ClaimedKey {
  /** Key holder and route; keys of one holder never collide with those of another (IDK-30). */
  readonly scope: string;
  readonly key: string;
  /** Unique to the call. */
  readonly claimToken: string;
}

/** A call that requests a key. Times are Unix milliseconds. */
export interface IdempotencyClaim extends ClaimedKey {
  /** SHA-256 of method, path and body. */
  readonly fingerprint: string;
  readonly now: number;
  /** A claim that is not renewed until then was abandoned by a crash and may be taken over. */
  readonly claimUntil: number;
  readonly expiresAt: number;
}

/** Whether the call may run; `finished` carries the response to repeat. */
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
