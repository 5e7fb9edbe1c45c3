import type { AttemptTrace } from "../../core/attempt-trace.ts";
import type { AttemptNotes, DeliveryProgress, DeliveryWait, RetryAfterNote } from "../../core/delivery.ts";
import type { RetryAfter } from "../../core/http/retry-after.ts";
import type { Flight } from "./flight.ts";

export interface NotedAnswer {
  /** The received value and its meaning; undefined if the response had none. */
  readonly retryAfter: { readonly value: string; readonly means: RetryAfter } | undefined;
  /** The state of the delivery after the attempt. */
  readonly progress: DeliveryProgress;
  /** The time from which `Retry-After` counts. */
  readonly now: number;
}

/** Notes on an attempt in addition to its result; null for most attempts, which keeps the event path cheap. */
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
 * The gates that held the delivery after it was due. For the rest of the time it waited for a request slot or its
 * turn.
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
