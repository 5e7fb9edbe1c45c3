import { packTrace, unpackTrace } from "../domain/attempt-trace.ts";
import {
  type AttemptNotes,
  type DeliveryWait,
  gateNames,
  retryAfterEffects,
  type RetryAfterNote,
} from "../domain/delivery.ts";
import type {
  PublishCommand,
  PublishResult,
  Settlement,
  SettlementResult,
} from "../ports/store/deliveries.ts";
import type { ProblemBatch, ProblemFact } from "../ports/store/delivery-problems.ts";

/**
 * Settlements of attempts that were made before their event was stored. These settlements are written together with the
 * event.
 */
export function attemptedOf(
  { attempted = [] }: PublishCommand,
  result: PublishResult | undefined,
): readonly Settlement[] {
  if (result?.kind !== "accepted") return [];
  return attempted.flatMap((one, at) => {
    const lease = result.leases[at];
    return lease === undefined ? [] : [{ lease, ...one }];
  });
}

/**
 * Adds the failures of settlements that were written together with an event to the batch. Also returns the settlement
 * results, with a result for each added failure.
 */
export function withPassedOn(
  batch: ProblemBatch,
  settled: readonly SettlementResult[],
  publishes: readonly PublishResult[],
): { readonly batch: ProblemBatch; readonly settled: readonly SettlementResult[] } {
  const passedOn = (batch.passedOn ?? []).flatMap(({ publish, delivery, fact }): readonly ProblemFact[] => {
    const result = publishes[publish];
    const lease = result?.kind === "accepted" ? result.leases[delivery] : undefined;
    return lease === undefined ? [] : [{ ...fact, lease }];
  });
  if (passedOn.length === 0) return { batch, settled };
  return {
    batch: { ...batch, failures: [...batch.failures, ...passedOn] },
    settled: [...settled, ...passedOn.map(() => ({ kind: "written" }) as const)],
  };
}

/**
 * Returns attempt notes in the format that both stores use. Notes are stored as text, because most attempts have none
 * and they are never searched.
 */
export function attemptNotesText(notes: AttemptNotes | null): string | null {
  if (notes === null) return null;
  const { retryAfter, waits, trace } = notes;
  return JSON.stringify({
    retryAfter: retryAfter ?? undefined,
    waits: waits.length === 0 ? undefined : waits.map(({ reason, from, until }) => [reason, from, until]),
    trace: trace === undefined ? undefined : packTrace(trace),
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
