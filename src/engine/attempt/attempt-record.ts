import { type AttemptTrace, boundedTrace, isTraced } from "../../domain/attempt-trace.ts";
import type {
  AttemptNotes,
  AttemptRecord,
  DeliveryProgress,
  DeliveryWait,
  RetryAfterNote,
} from "../../domain/delivery.ts";
import { bodyText } from "../../domain/http/body-text.ts";
import { maskedField, maskedParameters } from "../../domain/http/request-headers.ts";
import type { RetryAfter } from "../../domain/http/retry-after.ts";
import type { Verdict } from "../../domain/classify.ts";
import {
  noResponseFields,
  responseFieldLengthMax,
  responseSampleBytesMax,
  type TransportResult,
  type WireTrace,
} from "../../ports/transport.ts";
import { maskSecrets } from "../credentials/secret-mask.ts";
import type { Flight } from "./attempts.ts";

export interface NotedAnswer {
  /** The received value and its meaning; undefined if the response had no `Retry-After`. */
  readonly retryAfter: { readonly value: string; readonly means: RetryAfter } | undefined;
  /** The state of the delivery after the attempt. */
  readonly progress: DeliveryProgress;
  /** The timestamp from which `Retry-After` counts. */
  readonly now: number;
}

/** Additional facts about an attempt; null for most attempts, which keeps the event path cheap. */
export function attemptNotes(
  flight: Flight,
  answer: NotedAnswer,
  trace: AttemptTrace | null,
): AttemptNotes | null {
  const waits = waitsOf(flight);
  if (answer.retryAfter === undefined && waits.length === 0 && trace === null) return null;
  return { retryAfter: retryAfterNote(answer), waits, ...(trace !== null && { trace }) };
}

function retryAfterNote({ retryAfter, progress, now }: NotedAnswer): RetryAfterNote | null {
  if (retryAfter === undefined) return null;
  const { value, means } = retryAfter;
  const shown = value.slice(0, valueLengthMax);
  if (means.kind !== "delay")
    return { value: shown, effect: means.kind === "unparsable" ? "unparsable" : "none" };
  if (progress.reason === "retry_after_beyond_horizon") return { value: shown, effect: "beyond_horizon" };
  const decided = progress.state === "failed" && progress.dueAt === now + means.delayMs;
  return { value: shown, effect: decided ? "lower_bound" : "none" };
}

/**
 * Gate periods that held the delivery after its due time. The remaining wait was for a request slot or for its turn in
 * the lane.
 */
export function waitsOf({ delivery, endpoint, lane, startedAt }: Flight): readonly DeliveryWait[] {
  const { dueAt, createdAt } = delivery.progress;
  const since = Math.max(dueAt, createdAt);
  if (startedAt - since < waitMsMin) return noWaits;
  const isBehind = lane.ordered && lane.freedAt > since;
  const { gateLog, tenantQueue } = endpoint;
  if (gateLog === null && tenantQueue.gateLog === null && !isBehind) return noWaits;
  const time = { from: since, until: startedAt };
  const waits = [...(gateLog?.within(time) ?? []), ...(tenantQueue.gateLog?.within(time) ?? [])];
  if (isBehind) waits.push({ reason: "order", from: since, until: Math.min(lane.freedAt, startedAt) });
  return waits.toSorted((left, right) => left.from - right.from);
}

const noWaits: readonly DeliveryWait[] = [];
/** Shorter waits are not recorded. */
const waitMsMin = 1_000;
const valueLengthMax = 100;

/** Text from a receiver, with the secrets of the request masked. */
export function masked(
  { endpoint, accessToken }: Pick<Flight, "endpoint" | "accessToken">,
  text: string,
  wasCut: boolean,
): string {
  const { shownSecrets } = endpoint.config;
  const secrets = accessToken === null ? shownSecrets : [accessToken, ...shownSecrets];
  return maskSecrets(text, secrets, wasCut);
}

/** Network details of an attempt: recorded for all failed attempts and a sample of the accepted ones. */
function attemptTrace(flight: Flight, verdict: Verdict, result: TransportResult): AttemptTrace | null {
  if (verdict.outcome === "accepted" && !isTraced(flight.delivery.id)) return null;
  const wire = result.trace ?? untraced;
  return boundedTrace({
    url: maskedParameters(masked(flight, flight.webhook.url, false)),
    httpVersion: wire.httpVersion,
    peerAddress: wire.peerAddress,
    responseHeaders: shownHeaders(flight, wire),
    timings: wire.timings,
    configRevision: flight.webhook.revision,
    truncated: wire.headersCut,
  });
}

/** Recorded if no request was sent or the sender thread exited. */
const untraced: WireTrace = {
  httpVersion: null,
  peerAddress: null,
  responseHeaders: [],
  headersCut: false,
  timings: { dnsMs: null, connectMs: null, tlsMs: null, waitMs: null },
};

function shownHeaders(flight: Flight, { responseHeaders, headersCut }: WireTrace): readonly string[] {
  return responseHeaders.map((text, index) => {
    if (index % 2 === 0) return text;
    const shown = maskedField(responseHeaders[index - 1] ?? "", text);
    return masked(flight, shown, headersCut && index === responseHeaders.length - 1);
  });
}

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

/** The result of an attempt that sent no request. It counts as failed, so that the delivery eventually ends. */
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
  return masked(flight, location, wasCut).slice(0, locationLengthMax);
}

function sampleText(flight: Flight, { responseSample }: TransportResult): string | null {
  if (responseSample === null || responseSample.length === 0) return null;
  const wasCut = responseSample.length >= responseSampleBytesMax;
  return masked(flight, bodyText(responseSample), wasCut);
}
