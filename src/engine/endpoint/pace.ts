import type { TransportResult } from "../../ports/transport.ts";

/**
 * How an endpoint answered last, which is the best guess of how long the next request will keep its place: `quick` within
 * a second, `slow` later than that, `silent` not within five seconds or not at all. Of an `unknown` one nothing is known.
 */
export const paces = ["quick", "unknown", "slow", "silent"] as const;
export type Pace = (typeof paces)[number];

/** A refused connection keeps its place as briefly as a quick answer does, but promises nothing about the next one. */
export function paceOf({ observation, durationMs }: TransportResult): Pace {
  const answered = observation.kind === "response";
  if (durationMs < quickMsMax) return answered ? "quick" : "slow";
  return answered && durationMs < slowMsMax ? "slow" : "silent";
}

export function paceFromJson(value: unknown): Pace {
  return paces.find((pace) => pace === value) ?? "unknown";
}

const quickMsMax = 1_000;
const slowMsMax = 5_000;
