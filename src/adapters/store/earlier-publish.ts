import type {
  DuplicateOriginal,
  NewEvent,
  PublishCommand,
  PublishResult,
} from "../../ports/store/deliveries.ts";

/** The publish that a deduplication key refers to. */
export interface EarlierPublish {
  readonly fingerprint: string | null;
  readonly original: DuplicateOriginal;
}

/** Whether repeats of this publish must be detected. */
export function isKeyed({ event, dedupUntil }: PublishCommand): boolean {
  return dedupUntil !== null && event.idempotencyKey !== null;
}

/** The answer to a publish whose key already refers to an event. */
export function answerToRepeat(
  { fingerprint }: NewEvent,
  earlier: EarlierPublish,
): Exclude<PublishResult, { readonly kind: "accepted" }> {
  if (earlier.fingerprint !== fingerprint) return { kind: "key_conflict", eventId: earlier.original.id };
  return { kind: "duplicate", original: earlier.original };
}
