import type { WebhookRuntimeState } from "../ports/store/deliveries.ts";
import type { IdempotencyClaim, IdempotencyState } from "../ports/store/idempotency.ts";

/** The result of the earlier call; null if it has no result yet. */
export function answerOf(
  fingerprint: string,
  /** Null while the call is running, or after a crash. */ status: number | null,
  body: string | null,
  entry: IdempotencyClaim,
): Exclude<IdempotencyState, { readonly kind: "claimed" | "running" }> | null {
  if (fingerprint !== entry.fingerprint) return { kind: "mismatch" };
  return status === null ? null : { kind: "finished", status, body: body ?? "" };
}

/** The stored state of an endpoint. */
export type RuntimeRow = [
  webhookId: string,
  pausedUntil: number | null,
  pauseReason: string | null,
  lastSuccessAt: number | null,
  circuit: string | null,
  health: string | null,
];

/** Converts a row to the persisted runtime state of a webhook. */
export function toRuntimeState([
  webhookId,
  pausedUntil,
  pauseReason,
  lastSuccessAt,
  circuit,
  health,
]: RuntimeRow): WebhookRuntimeState {
  return { webhookId, pausedUntil, pauseReason, lastSuccessAt, circuit, health };
}
