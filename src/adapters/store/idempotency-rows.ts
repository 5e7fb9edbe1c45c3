import type { IdempotencyClaim, IdempotencyState } from "../../ports/store/idempotency.ts";

/** The answer of the earlier call; null while it has none. */
export function answerOf(
  fingerprint: string,
  /** Null while the call runs, or after a crash. */ status: number | null,
  body: string | null,
  entry: IdempotencyClaim,
): Exclude<IdempotencyState, { readonly kind: "claimed" | "running" }> | null {
  if (fingerprint !== entry.fingerprint) return { kind: "mismatch" };
  return status === null ? null : { kind: "finished", status, body: body ?? "" };
}
