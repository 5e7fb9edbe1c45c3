import { packTrace, unpackTrace } from "../../core/attempt-trace.ts";
import { gateNames, retryAfterEffects } from "../../core/delivery.ts";
import type { AttemptNotes, DeliveryWait, RetryAfterNote } from "../../core/delivery.ts";

/**
 * Notes of an attempt in the format of both stores: text, because most attempts have none and they are never searched.
 */
export function attemptNotesText(notes: AttemptNotes | null): string | null {
  if (notes === null) return null;
  const { retryAfter, waits, trace } = notes;
  return JSON.stringify({
    ...(retryAfter !== null && { retryAfter }),
    ...(waits.length > 0 && { waits: waits.map(({ reason, from, until }) => [reason, from, until]) }),
    ...(trace !== undefined && { trace: packTrace(trace) }),
  });
}

/** Ignores fields written by a later version. */
export function attemptNotesFromText(text: string | null): AttemptNotes | null {
  if (text === null) return null;
  const { retryAfter, waits, ...kept } = JSON.parse(text) as StoredNotes;
  const trace = unpackTrace(kept.trace);
  return {
    retryAfter: knownNote(retryAfter),
    waits: (waits ?? []).flatMap(knownWait),
    ...(trace !== null && { trace }),
  };
}

interface StoredNotes {
  readonly retryAfter?: RetryAfterNote;
  readonly waits?: unknown[][];
  readonly trace?: unknown;
}

function knownNote(note: RetryAfterNote | undefined): RetryAfterNote | null {
  return note === undefined || !retryAfterEffects.includes(note.effect) ? null : note;
}

function knownWait([name, from, until]: unknown[]): DeliveryWait[] {
  const reason = gateNames.find((known) => known === name);
  if (reason === undefined || typeof from !== "number" || typeof until !== "number") return [];
  return [{ reason, from, until }];
}
