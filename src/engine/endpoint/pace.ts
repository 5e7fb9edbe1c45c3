import { hangingAfterMs, waitingAfterMs } from "../../domain/request-slots.ts";
import type { TransportResult } from "../../ports/transport.ts";

/**
 * The pace of the last response, which is the best prediction for the next request: `quick` within a second, `slow`
 * later than that, `silent` not within five seconds or not at all, `unknown` before the first response. A request in
 * flight changes the pace too: its endpoint is slow after one second and silent after five.
 */
export const paces = ["quick", "unknown", "slow", "silent"] as const;
export type Pace = (typeof paces)[number];

/**
 * A refused connection ends as fast as a quick response does, but predicts nothing about the next one. A timeout is
 * silence, however short the timeout is.
 */
export function paceOf({ observation, durationMs }: TransportResult): Pace {
  const answered = observation.kind === "response";
  if (!answered && observation.category === "timeout") return "silent";
  if (durationMs < waitingAfterMs) return answered ? "quick" : "slow";
  return answered && durationMs < hangingAfterMs ? "slow" : "silent";
}

export function paceFromJson(value: unknown): Pace {
  return paces.find((pace) => pace === value) ?? "unknown";
}
