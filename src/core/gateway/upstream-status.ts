/**
 * What a sender is told of what its message met (G8), as data. Never a redirect, never success for what was not accepted,
 * and nothing of the destination's own guidance (EDS-9.7-3).
 */
import type { AttemptObservation } from "../outcome.ts";
import type { StatusOverrides } from "./source.ts";

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

/** Rows of the table that no status of the destination names. `timeout` is also what was cut short: nobody knows what happened. */
const rowsWithoutStatus = { timeout: 504, not_reached: 502, oversized: 502 } as const;
type RowWithoutStatus = keyof typeof rowsWithoutStatus;

/** What one attempt came to, as far as its sender may know. */
export interface SeenAttempt {
  readonly observation: AttemptObservation;
  /** By the classification of the destination's profile, which may accept a 207 by agreement. */
  readonly isAccepted: boolean;
  /** The answer was longer than what is passed on. */
  readonly isOversized: boolean;
}

/** What a source may say otherwise: success for success, an error for anything else, never a redirect. */
export function isPossibleOverride(row: string, upstream: unknown): boolean {
  const isRow = /^[2-5]\d\d$/.test(row) || Object.hasOwn(rowsWithoutStatus, row);
  if (!isRow || typeof upstream !== "number" || !Number.isInteger(upstream)) return false;
  const [least, most] = row.startsWith("2") ? [200, 299] : [400, 599];
  return upstream >= least && upstream <= most;
}

export function upstreamStatus(seen: SeenAttempt, overrides: StatusOverrides = {}): number {
  const row = rowWithoutStatus(seen);
  if (row !== null) return overrides[row] ?? rowsWithoutStatus[row];
  const { observation, isAccepted } = seen;
  const status = observation.kind === "response" ? observation.status : 0;
  const own = overrides[status];
  if (own !== undefined && own < 300 === isAccepted) return own;
  return isAccepted ? status : refusedStatus(status);
}

function rowWithoutStatus({ observation, isOversized }: SeenAttempt): RowWithoutStatus | null {
  if (observation.kind === "failure") {
    const { category, requestSent } = observation;
    const isUnknown = category === "timeout" || (category === "network" && requestSent);
    return isUnknown ? "timeout" : "not_reached";
  }
  if (!observation.complete) return "timeout";
  return isOversized ? "oversized" : null;
}

function refusedStatus(status: number): number {
  const rule = upstreamRules.find(({ statuses }) => statuses.includes(status));
  const upstream = rule === undefined ? otherUpstream : (rule.upstream ?? status);
  // What the profile does not accept is no success, whatever the status says.
  return upstream < 300 ? otherUpstream : upstream;
}
