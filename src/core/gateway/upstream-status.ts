/**
 * Which status a sender gets for the destination's response, as data. Never a redirect, never a success for a message
 * that was not accepted, and none of the destination's own guidance (EDS-9.7-3).
 */
import type { AttemptObservation } from "../outcome.ts";
import type { StatusOverrides } from "./source.ts";

export interface UpstreamRule {
  /** Statuses of the destination. */
  readonly statuses: readonly number[];
  /** Null passes the destination's status on. */
  readonly upstream: number | null;
}

const hundred = (from: number): readonly number[] => Array.from({ length: 100 }, (_, index) => from + index);

/** The first rule with the status applies; a status in no rule becomes `otherUpstream`. */
export const upstreamRules: readonly UpstreamRule[] = [
  { statuses: [207], upstream: 502 },
  { statuses: hundred(200), upstream: null },
  // Faults of the message: only its sender can fix them.
  { statuses: [400, 413, 414, 415, 422, 431], upstream: null },
  // Transient failures.
  { statuses: [408, 409, 421, 425, 429, ...hundred(500)], upstream: 503 },
];

/** 1xx, 3xx, and statuses that show a wrong setup of this deployment: 401, 403, 404, 405, 410 and the like. */
const otherUpstream = 502;

/** Table rows without a status of the destination. `timeout` includes truncated responses: the outcome is unknown. */
const rowsWithoutStatus = { timeout: 504, not_reached: 502, oversized: 502 } as const;
type RowWithoutStatus = keyof typeof rowsWithoutStatus;

/** What the sender may learn of one attempt. */
export interface SeenAttempt {
  readonly observation: AttemptObservation;
  /** By the classification of the destination's profile, which may accept a 207 by agreement. */
  readonly isAccepted: boolean;
  /** The response was longer than the limit for forwarding. */
  readonly isOversized: boolean;
}

/** Overrides that a source may set: a success for a success, an error for anything else, never a redirect. */
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
  // A response that the profile does not accept is not a success, whatever its status.
  return upstream < 300 ? otherUpstream : upstream;
}
