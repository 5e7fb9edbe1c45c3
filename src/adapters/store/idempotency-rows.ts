import type { IdempotencyClaim, IdempotencyState } from "../../ports/store/idempotency.ts";

/** What both stores select of a call that used the key before. */
export interface EarlierCall {
  readonly fingerprint: string;
  /** Null while it runs, or when a crash left it behind. */
  readonly status: number | null;
  readonly body: string | null;
}

/** What the earlier call answers; null while it has no answer. */
export function answerOf(
  { fingerprint, status, body }: EarlierCall,
  entry: IdempotencyClaim,
): Exclude<IdempotencyState, { readonly kind: "claimed" | "running" }> | null {
  if (fingerprint !== entry.fingerprint) return { kind: "mismatch" };
  return status === null ? null : { kind: "finished", status, body: body ?? "" };
}
