import { hangingAfterMs, waitingAfterMs } from "../../core/request-slots.ts";
import type { TransportResult } from "../../ports/transport.ts";

/**
 * How an endpoint answered last, which is the best guess of how long the next request will take: `quick` within a second,
 * `slow` later than that, `silent` not within five seconds or not at all. Of an `unknown` one nothing is known. A request
 * that still waits changes the pace too: its endpoint is slow after one second and silent after five.
 */
export const paces = ["quick", "unknown", "slow", "silent"] as const;
export type Pace = (typeof paces)[number];

/**
 * A refused connection ends as quickly as a quick answer does, but promises nothing about the next one. A timeout is silence,
 * however short the timeout is.
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
