import { bucketAt, stepMs } from "../../core/statistics/buckets.ts";
import { type FieldError, InvalidRequestError } from "../../core/errors.ts";
import type { StatisticsPointStep } from "../../core/fields/statistics.ts";

/** The contiguous points of a response, in Unix milliseconds. */
export interface TimeAxis {
  readonly step: Exclude<StatisticsPointStep, "auto">;
  readonly starts: readonly number[];
  /** End of the last point. */
  readonly end: number;
}

const lengthsMs: Readonly<Record<TimeAxis["step"], number>> = {
  "1m": stepMs.minute,
  "5m": 5 * stepMs.minute,
  "1h": stepMs.hour,
  "1d": stepMs.day,
};

/** Length of a range if only its end is given. */
export function spanMsDefault(step: StatisticsPointStep): number {
  if (step === "1d") return 30 * stepMs.day;
  return step === "1m" ? 12 * stepMs.hour : stepMs.day;
}

const pointsMax = 1_000;
const autoPointsMax = 300;

export function pointSeconds(step: TimeAxis["step"]): number {
  return lengthsMs[step] / 1_000;
}

/** Throws InvalidRequestError for an empty range, one that is too long for the step, or an unknown time zone. */
export function timeAxis(asked: {
  readonly from: number;
  readonly to: number;
  readonly step: StatisticsPointStep;
  readonly timeZone: string;
}): TimeAxis {
  const { from, to } = asked;
  if (from >= to) throw invalid({ field: "from", message: "must be before to" });
  const count = (step: TimeAxis["step"]): number => Math.ceil((to - from) / lengthsMs[step]);
  const fitting = (["1m", "5m", "1h"] as const).find((each) => count(each) <= autoPointsMax) ?? "1d";
  const step = asked.step === "auto" ? fitting : asked.step;
  if (count(step) > pointsMax)
    throw invalid({ field: "step", message: `would give more than ${pointsMax} points; use a longer step` });
  const starts = step === "1d" ? dayStarts(asked) : evenStarts(asked.from, asked.to, lengthsMs[step]);
  return {
    step,
    starts,
    end: step === "1d" ? nextDay(starts.at(-1) ?? from, asked) : (starts.at(-1) ?? 0) + lengthsMs[step],
  };
}

/** Index of the point that contains a time; -1 before the first. */
export function pointAt({ starts }: Pick<TimeAxis, "starts">, time: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function evenStarts(from: number, to: number, lengthMs: number): number[] {
  const starts: number[] = [];
  for (let start = Math.floor(from / lengthMs) * lengthMs; start < to; start += lengthMs) starts.push(start);
  return starts;
}

interface Zoned {
  readonly timeZone: string;
}

function dayStarts(asked: Zoned & { readonly from: number; readonly to: number }): number[] {
  let first = bucketAt(asked.from, "hour");
  const day = dayOf(asked);
  while (day(first - stepMs.hour) === day(first)) first -= stepMs.hour;
  const starts = [first];
  for (let next = nextDay(first, asked); next < asked.to; next = nextDay(next, asked)) starts.push(next);
  return starts;
}

/** The first hour of the next day: 23 to 25 hours later, or slightly more when a zone changes its offset. */
function nextDay(start: number, zoned: Zoned): number {
  const day = dayOf(zoned);
  let next = start + 22 * stepMs.hour;
  while (day(next) === day(start)) next += stepMs.hour;
  return next;
}

function dayOf({ timeZone }: Zoned): (time: number) => string {
  if (timeZone === "UTC") return (time) => String(bucketAt(time, "day"));
  const format = formatOf(timeZone);
  return (time) => format.format(time);
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  } catch {
    throw invalid({ field: "time_zone", message: "must be a known time zone" });
  }
}

function invalid(error: FieldError): InvalidRequestError {
  return new InvalidRequestError(`${error.field} ${error.message}`, [error]);
}
