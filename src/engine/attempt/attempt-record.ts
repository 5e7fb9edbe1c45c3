import type { AttemptRecord, DeliveryProgress } from "../../core/delivery.ts";
import type { Verdict } from "../../core/outcome.ts";
import { bodyText } from "../../core/http/body-text.ts";
import { noResponseFields, responseFieldLengthMax, responseSampleBytesMax } from "../../ports/transport.ts";
import type { TransportResult } from "../../ports/transport.ts";
import type { Flight } from "./flight.ts";
import { attemptNotes, type NotedAnswer } from "./attempt-notes.ts";
import { attemptTrace } from "./attempt-trace.ts";
import { masked } from "./masked.ts";

/** The history record of a request, with the state of its delivery afterwards. */
export function attemptRecord(
  flight: Flight,
  made: Pick<NotedAnswer, "retryAfter" | "now"> & {
    readonly id: string;
    readonly verdict: Verdict;
    readonly result: TransportResult;
    readonly progress: DeliveryProgress;
  },
): AttemptRecord {
  const { id, verdict, result, progress } = made;
  return {
    id,
    number: progress.attemptCount,
    outcome: verdict.outcome,
    receiverStateUnknown: verdict.receiverStateUnknown,
    category: verdict.category ?? null,
    statusCode: statusOf(result),
    responseSample: sampleText(flight, result),
    errorMessage: shownError(flight, result),
    durationMs: Math.round(result.durationMs),
    scheduledAt: flight.delivery.progress.dueAt,
    executedAt: flight.startedAt,
    nextRetryAt: progress.state === "failed" ? progress.dueAt : null,
    notes: attemptNotes(flight, made, attemptTrace(flight, made.verdict, made.result)),
  };
}

export function statusOf(result: TransportResult): number | null {
  return result.observation.kind === "response" ? result.observation.status : null;
}

/** No request was sent. It counts as a failed attempt, so that the delivery eventually ends. */
export function notSent(errorMessage: string): TransportResult {
  return {
    observation: { kind: "failure", category: "network", requestSent: false },
    responseSample: null,
    fields: noResponseFields,
    errorMessage,
    durationMs: 0,
  };
}

function shownError(flight: Flight, result: TransportResult): string | null {
  const location = shownLocation(flight, result);
  return location === null ? result.errorMessage : `redirect to ${location} was not followed`;
}

const locationLengthMax = 500;

/** Target of a redirect, for display. */
export function shownLocation(flight: Flight, { fields }: TransportResult): string | null {
  const { location } = fields;
  if (location === undefined) return null;
  const wasCut = location.length >= responseFieldLengthMax;
  return masked(flight, { text: location, wasCut }).slice(0, locationLengthMax);
}

function sampleText(flight: Flight, { responseSample }: TransportResult): string | null {
  if (responseSample === null || responseSample.length === 0) return null;
  const wasCut = responseSample.length >= responseSampleBytesMax;
  return masked(flight, { text: bodyText(responseSample), wasCut });
}
