/**
 * What a sender is told of what its message met (G8), as data. Never a redirect, never success for what was not accepted,
 * and nothing of the destination's own guidance (EDS-9.7-3).
 */
import type { AttemptObservation } from "../outcome.ts";

export interface UpstreamRule {
  /** Statuses of the destination. */
  readonly statuses: readonly number[];
  /** Null passes the destination's own on. */
  readonly upstream: number | null;
}

const hundred = (from: number): readonly number[] => Array.from({ length: 100 }, (_, index) => from + index);

/** The first that names a status counts; what none names is `otherUpstream`. */
export const upstreamRules: readonly UpstreamRule[] = [
  { statuses: [207], upstream: 502 },
  { statuses: hundred(200), upstream: null },
  // The message itself: only its sender can mend it.
  { statuses: [400, 413, 414, 415, 422, 431], upstream: null },
  // Later, or again.
  { statuses: [408, 409, 421, 425, 429, ...hundred(500)], upstream: 503 },
];

/** 1xx alone, 3xx, and what says that this deployment is set up wrongly: 401, 403, 404, 405, 410 and the like. */
const otherUpstream = 502;

/** `isAccepted` by the classification of the destination's profile, which may accept a 207 by agreement. */
export function upstreamStatus(observation: AttemptObservation, isAccepted: boolean): number {
  if (observation.kind === "failure") return observation.category === "timeout" ? 504 : 502;
  const { status, complete } = observation;
  if (!complete) return 504;
  if (isAccepted) return status;
  const rule = upstreamRules.find(({ statuses }) => statuses.includes(status));
  const upstream = rule === undefined ? otherUpstream : (rule.upstream ?? status);
  // What the profile does not accept is no success, whatever the status says.
  return upstream < 300 ? otherUpstream : upstream;
}
