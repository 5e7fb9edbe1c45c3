import type { IdempotencyClaim, IdempotencyState } from "../../ports/store/idempotency.ts";

/** An earlier call with the same key, as both stores select it. */
export interface EarlierCall {
  readonly fingerprint: string;
  /** Null while the call runs, or after a crash. */
  readonly status: number | null;
  readonly body: string | null;
}

/** The answer of the earlier call; null while it has none. */
export function answerOf(
  { fingerprint, status, body }: EarlierCall,
  entry: IdempotencyClaim,
): Exclude<IdempotencyState, { readonly kind: "claimed" | "running" }> | null {
  if (fingerprint !== entry.fingerprint) return { kind: "mismatch" };
  return status === null ? null : { kind: "finished", status, body: body ?? "" };
}
