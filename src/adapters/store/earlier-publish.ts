import type {
  DuplicateOriginal,
  NewEvent,
  PublishCommand,
  PublishResult,
} from "../../ports/store/deliveries.ts";

/** What a deduplication key stands for. */
export interface EarlierPublish {
  readonly fingerprint: string | null;
  readonly original: DuplicateOriginal;
}

/** Whether a repeat of this publish is to be recognised. */
export function isKeyed({ event, dedupUntil }: PublishCommand): boolean {
  return dedupUntil !== null && event.idempotencyKey !== null;
}

/** What a publish hears whose key stands for an event already. */
export function answerToRepeat(
  { fingerprint }: NewEvent,
  earlier: EarlierPublish,
): Exclude<PublishResult, { readonly kind: "accepted" }> {
  if (earlier.fingerprint !== fingerprint) return { kind: "key_conflict", eventId: earlier.original.id };
  return { kind: "duplicate", original: earlier.original };
}
