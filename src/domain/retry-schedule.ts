import type { FailureCategory } from "./classify.ts";
import type { Jitter, RetrySchedule } from "./profile.ts";

/** Bounds that keep every schedule finite (EDS-11.8-1). Attempts count requests, including the first. */
export const scheduleAttemptsMax = 51;
export const scheduleDelayMsMax = 7 * 86_400_000;
const scheduleTotalMsMax = 30 * 86_400_000;
const jitterFactorMax = 4;

/** Total number of requests that a schedule allows, including the first. */
export function attemptsMax(schedule: RetrySchedule): number {
  return schedule.kind === "list" ? schedule.delaysMs.length + 1 : schedule.attemptsMax;
}

export interface NextDelayQuery {
  readonly schedule: RetrySchedule;
  /** Number of requests sent so far, starting at 1. */
  readonly attemptCount: number;
  /** Uniform in [0, 1). */
  readonly random: number;
  readonly category: FailureCategory | undefined;
  /** Smallest delay after a failure of a category (WDS-118 to 121). */
  readonly floorsMs: Readonly<Partial<Record<FailureCategory, number>>>;
  readonly retryAfterMs: number | null;
}

/**
 * Milliseconds from the end of one request to the start of the next. Jitter is applied first, then the schedule's cap,
 * then the floors, so that neither a category minimum nor Retry-After can be undercut (EDS-9.6-6).
 *
 * Whether another request is allowed is decided elsewhere. A count outside the schedule, which is possible if the
 * schedule changed while a delivery waited, gets the first or last delay.
 */
export function nextDelayMs(query: NextDelayQuery): number {
  const floorMs = query.category === undefined ? 0 : (query.floorsMs[query.category] ?? 0);
  const delayMs = jitteredDelayMs(query.schedule, query.attemptCount, query.random);
  return Math.max(delayMs, floorMs, query.retryAfterMs ?? 0);
}

function jitteredDelayMs(schedule: RetrySchedule, attemptCount: number, random: number): number {
  const retryIndex = Math.max(0, attemptCount - 1);
  const { from, to } = schedule.jitter;
  const factor = from + (to - from) * random;
  if (schedule.kind === "list")
    return Math.ceil((schedule.delaysMs[retryIndex] ?? lastDelayMs(schedule)) * factor);
  const baseMs = exponentialDelayMs(schedule, retryIndex);
  return Math.min(Math.ceil(baseMs * factor), schedule.delayMsMax);
}

function lastDelayMs(schedule: Extract<RetrySchedule, { kind: "list" }>): number {
  return schedule.delaysMs.at(-1) ?? 0;
}

function exponentialDelayMs(
  schedule: Extract<RetrySchedule, { kind: "exponential" }>,
  retryIndex: number,
): number {
  return Math.min(schedule.baseDelayMs * schedule.multiplier ** retryIndex, schedule.delayMsMax);
}

/**
 * One reason why a schedule is invalid. `field` is a path inside the schedule, such as `delaysMs[3]`; it is empty for
 * the whole schedule.
 */
export interface ScheduleProblem {
  readonly field: string;
  readonly problem: string;
}

/**
 * All problems of an untrusted schedule. If the list is empty, the value is a valid `RetrySchedule` (EDS-9.6-3,
 * TS16-108).
 */
export function validateSchedule(candidate: unknown): readonly ScheduleProblem[] {
  if (!isRecord(candidate)) return [{ field: "", problem: "must be an object" }];
  switch (candidate["kind"]) {
    case "list":
      return finishedWith(candidate, listProblems(candidate));
    case "exponential":
      return finishedWith(candidate, exponentialProblems(candidate));
    default:
      return [{ field: "kind", problem: 'must be "list" or "exponential"' }];
  }
}

/** The total is only meaningful if every part is valid. */
function finishedWith(
  candidate: Record<string, unknown>,
  problems: ScheduleProblem[],
): readonly ScheduleProblem[] {
  problems.push(...jitterProblems(candidate["jitter"]));
  if (problems.length > 0) return problems;
  const totalMs = longestTotalMs(candidate as unknown as RetrySchedule);
  if (totalMs <= scheduleTotalMsMax) return problems;
  return [{ field: "", problem: `takes up to ${totalMs} ms in total, more than ${scheduleTotalMsMax}` }];
}

/** The sum of all delays with the largest jitter; floors are not part of a schedule. */
export function longestTotalMs(schedule: RetrySchedule): number {
  let totalMs = 0;
  for (let attemptCount = 1; attemptCount < attemptsMax(schedule); attemptCount += 1) {
    totalMs += jitteredDelayMs(schedule, attemptCount, 1);
  }
  return totalMs;
}

function listProblems(candidate: Record<string, unknown>): ScheduleProblem[] {
  const delaysMs = candidate["delaysMs"];
  if (!Array.isArray(delaysMs) || delaysMs.length === 0) {
    return [{ field: "delaysMs", problem: "must be a list of at least one delay" }];
  }
  if (delaysMs.length >= scheduleAttemptsMax) {
    return [{ field: "delaysMs", problem: `must have at most ${scheduleAttemptsMax - 1} delays` }];
  }
  // `flatMap` is not suitable, because it would skip the holes of a sparse array.
  return Array.from(delaysMs, (delayMs: unknown, index) => {
    return numberProblems(`delaysMs[${index}]`, delayMs, 0, scheduleDelayMsMax);
  }).flat();
}

function exponentialProblems(candidate: Record<string, unknown>): ScheduleProblem[] {
  const attempts = candidate["attemptsMax"];
  const problems = numberProblems("attemptsMax", attempts, 1, scheduleAttemptsMax);
  if (problems.length === 0 && !Number.isInteger(attempts)) {
    problems.push({ field: "attemptsMax", problem: "must be a whole number" });
  }
  return [
    ...problems,
    ...numberProblems("baseDelayMs", candidate["baseDelayMs"], 1, scheduleDelayMsMax),
    // Below 1, the expected delay would decrease with each retry (EDS-9.6-1).
    ...numberProblems("multiplier", candidate["multiplier"], 1, 100),
    ...numberProblems("delayMsMax", candidate["delayMsMax"], 1, scheduleDelayMsMax),
  ];
}

function jitterProblems(jitter: unknown): ScheduleProblem[] {
  if (!isRecord(jitter)) return [{ field: "jitter", problem: "must be an object with `from` and `to`" }];
  const { from, to } = jitter as Partial<Jitter>;
  const problems = [
    ...numberProblems("jitter.from", from, 0, jitterFactorMax),
    ...numberProblems("jitter.to", to, 0, jitterFactorMax),
  ];
  if (problems.length > 0) return problems;
  if (Number(to) < Number(from))
    problems.push({ field: "jitter.to", problem: "must not be less than `from`" });
  if (to === 0) problems.push({ field: "jitter.to", problem: "must be more than 0" });
  return problems;
}

function numberProblems(field: string, value: unknown, min: number, max: number): ScheduleProblem[] {
  // NaN fails both comparisons, so the test must be written as a positive condition.
  if (typeof value === "number" && value >= min && value <= max) return [];
  return [{ field, problem: `must be a number from ${min} to ${max}` }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Minimum and maximum of a single pause. */
export interface BackoffBounds {
  readonly delayMsMin: number;
  readonly delayMsMax: number;
}

/** Enough doublings for every limit, and still finite, so that multiplying by zero gives zero. */
const doublingsMax = 50;

/**
 * The length of the next pause. Each pause is twice as long as the one before. With `random`, the result is between
 * half of the length and the full length, so that clients that failed at the same time do not retry at the same time.
 * Without it, the result is the full length.
 */
export function backoffMs(
  { delayMsMin, delayMsMax }: BackoffBounds,
  pauses: number,
  random: number | undefined = 1,
): number {
  const ceilingMs = Math.min(delayMsMax, delayMsMin * 2 ** Math.min(pauses, doublingsMax));
  return ceilingMs * (0.5 + random / 2);
}

/** Growing pauses between attempts. */
export class Backoff {
  readonly #bounds: BackoffBounds;
  #pauses = 0;

  constructor(bounds: BackoffBounds) {
    this.#bounds = bounds;
  }

  /** How long to wait before the next attempt. `random` is uniform in [0, 1). */
  nextMs(random?: number): number {
    const delayMs = backoffMs(this.#bounds, this.#pauses, random);
    this.#pauses += 1;
    return delayMs;
  }

  /** Call after a success. The next pause then has the shortest length again. */
  reset(): void {
    this.#pauses = 0;
  }
}
