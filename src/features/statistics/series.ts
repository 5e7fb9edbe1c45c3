import { failureCategories } from "../../domain/classify.ts";
import { type FieldError, InvalidRequestError } from "../../domain/errors.ts";
import { Counts } from "../../domain/statistics/counts.ts";
import {
  bucketAt,
  categoryKey,
  type DistributionName,
  keys,
  percentile,
  type StatisticsStep,
  stepMs,
} from "../../domain/statistics/facts.ts";
import {
  type GaugeName,
  type GaugeSpan,
  type GaugeSummary,
  gaugeNames,
  joinedSpans,
  summaryOf,
} from "../../domain/statistics/gauges.ts";
import type { GaugeRow, StatisticsRow } from "../../ports/store/statistics.ts";
import {
  type DeliveryGroup,
  type DeliveryMeasure,
  deliveryMeasures,
  type EventGroup,
  type EventMeasure,
  type StatisticsPointStep,
} from "../../resources/statistics.ts";

/** The contiguous points of a response. Times are Unix milliseconds. */
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

/**
 * The points of a range. Throws InvalidRequestError if the range is empty or too long for the step, or if the time zone
 * is unknown.
 */
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
    throw invalid({
      field: "step",
      message: `would give more than ${pointsMax} intervals; use a longer step`,
    });
  const starts = step === "1d" ? dayStarts(asked) : evenStarts(asked.from, asked.to, lengthsMs[step]);
  return {
    step,
    starts,
    end: step === "1d" ? nextDay(starts.at(-1) ?? from, asked) : (starts.at(-1) ?? 0) + lengthsMs[step],
  };
}

/** Index of the point that contains a time; -1 if the time is before the first point. */
function pointAt({ starts }: Pick<TimeAxis, "starts">, time: number): number {
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

/** The first full hour of the next day: 23 to 25 hours later, or slightly more when a zone changes its offset. */
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

/** Samples of a point; `at` is in Unix milliseconds. */
export interface GaugePoint {
  readonly at: number;
  /** Whether the point is incomplete. */
  readonly isPartial: boolean;
  /** Number of processes that took samples; a restarted process counts again. */
  readonly processes: number;
  readonly gauges: Readonly<Record<GaugeName, GaugeSummary | null>>;
}

/** The bucket size for points of this length. */
export function gaugeStep(step: TimeAxis["step"]): StatisticsStep {
  if (step === "1d") return "day";
  return step === "1h" ? "hour" : "minute";
}

/** Points with data. Others are omitted, because their values are unknown rather than zero. */
export function gaugePoints(rows: readonly GaugeRow[], axis: TimeAxis, now: number): readonly GaugePoint[] {
  const byPoint = Map.groupBy(rows, ({ start }) => Math.max(0, pointAt(axis, start)));
  return [...byPoint]
    .toSorted(([one], [other]) => one - other)
    .map(([index, ofPoint]) => {
      const spans = [...Map.groupBy(ofPoint, ({ writer }) => writer).values()].map((written) =>
        written.map(({ document }) => JSON.parse(document) as GaugeSpan).reduce(joinedSpans),
      );
      const gauges = gaugeNames.map((name) => [name, summaryOf(name, spans)]);
      return {
        at: axis.starts[index] ?? axis.end,
        isPartial: (axis.starts[index + 1] ?? axis.end) > now,
        processes: spans.length,
        gauges: Object.fromEntries(gauges) as GaugePoint["gauges"],
      };
    });
}

/** The data of one line of a chart. */
export interface Series {
  readonly key: string | null;
  /** Keyed by the index of the point; empty points are absent. */
  readonly points: Map<number, Counts>;
  readonly totals: Counts;
}

/** Rows of several writers and buckets, summed by key and point. */
export function seriesOf(
  rows: readonly StatisticsRow[],
  axis: Pick<TimeAxis, "starts" | "end">,
  keyOf: (row: StatisticsRow) => string | null,
): readonly Series[] {
  const byKey = new Map<string | null, Series>();
  for (const row of rows) {
    const at = Math.max(0, pointAt(axis, row.start));
    const key = keyOf(row);
    const series = byKey.get(key) ?? { key, points: new Map<number, Counts>(), totals: new Counts() };
    byKey.set(key, series);
    const point = series.points.get(at) ?? new Counts();
    series.points.set(at, point);
    point.addPacked(row.counts);
  }
  // Sum once per point instead of once per row, which is cheaper.
  for (const { points, totals } of byKey.values()) for (const point of points.values()) totals.addAll(point);
  return [...byKey.values()];
}

function addTo(byKey: Map<string | null, Series>, key: string | null, at: number, counts: Counts): void {
  const known = byKey.get(key);
  const series = known ?? { key, points: new Map<number, Counts>(), totals: new Counts() };
  if (known === undefined) byKey.set(key, series);
  series.totals.addAll(counts);
  const point = series.points.get(at);
  if (point === undefined) series.points.set(at, copyOf(counts));
  else point.addAll(counts);
}

/** The series with the highest counts, and all others combined as `other`. */
export function splitSeries(
  series: readonly Series[],
  groupBy: DeliveryGroup | EventGroup,
  limit: number,
): readonly Series[] {
  const parts = partsOf(groupBy);
  const split = parts === null ? series : series.flatMap((whole) => dividedBy(whole, parts));
  const ranked = split.toSorted((left, right) => weightOf(right) - weightOf(left));
  const shown = ranked.filter(({ key }) => key !== otherKey).slice(0, limit);
  const rest = ranked.filter((each) => !shown.includes(each));
  return rest.length === 0 ? shown : [...shown, together(rest)];
}

function weightOf({ totals }: Series): number {
  return (
    attemptsOf(totals) +
    totals.get(keys.published) +
    totals.get(keys.duplicate) +
    totals.get(keys.skipped) / 1_000
  );
}

function together(series: readonly Series[]): Series {
  const byKey = new Map<string | null, Series>();
  for (const { points } of series) for (const [at, counts] of points) addTo(byKey, otherKey, at, counts);
  return byKey.get(otherKey) ?? { key: otherKey, points: new Map(), totals: new Counts() };
}

/** Subdivisions of one bucket. Only the number of attempts is known for each of them. */
type Part = readonly [name: string, counted: (counts: Counts) => number];

function partsOf(groupBy: DeliveryGroup | EventGroup): ((counts: Counts) => readonly Part[]) | null {
  if (groupBy === "status_class") return () => statusClasses;
  if (groupBy === "category") return () => categories;
  return groupBy === "code" ? codesOf : null;
}

const key =
  (at: number) =>
  (counts: Counts): number =>
    counts.get(at);
const statusClasses: readonly Part[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((digit): Part => [`${digit}xx`, key(keys.statusClass + digit)]),
  ["none", key(keys.statusClass)],
];
const categories: readonly Part[] = failureCategories.map((name) => [name, key(categoryKey(name))]);

function codesOf(counts: Counts): readonly Part[] {
  const codes = counts
    .within(keys.status, keys.statusEnd)
    .map(([at]): Part => [String(at - keys.status), key(at)]);
  return [...codes, ["none", key(keys.statusClass)], [otherKey, key(keys.statusOther)]];
}

function dividedBy(whole: Series, parts: (counts: Counts) => readonly Part[]): readonly Series[] {
  const byKey = new Map<string | null, Series>();
  for (const [at, counts] of whole.points)
    for (const [name, counted] of parts(counts)) {
      const attempts = counted(counts);
      if (attempts === 0) continue;
      const part = new Counts();
      part.add(keys.accepted, attempts);
      addTo(byKey, name, at, part);
    }
  return [...byKey.values()];
}

function copyOf(counts: Counts): Counts {
  const copy = new Counts();
  copy.addAll(counts);
  return copy;
}

const otherKey = "other";

type Measuring = (counts: Counts) => number | null;

const count =
  (key: number): Measuring =>
  (counts) =>
    counts.get(key);
const timeAt =
  (name: DistributionName, share: number): Measuring =>
  (counts) => {
    const ms = percentile(counts, name, share);
    return ms === null ? null : Number(ms.toPrecision(3));
  };

/** The number of attempts. Every attempt has one of three outcomes, so their counts add up to this number. */
export function attemptsOf(counts: Counts): number {
  return counts.get(keys.accepted) + counts.get(keys.transient) + counts.get(keys.terminal);
}

/** Share of attempts that were not accepted, 0 to 1; null if there were no attempts. */
export function failureRateOf(counts: Counts): number | null {
  const attempts = attemptsOf(counts);
  return attempts === 0 ? null : Number((1 - counts.get(keys.accepted) / attempts).toFixed(6));
}

const ofDeliveries: Readonly<Record<DeliveryMeasure, Measuring>> = {
  attempts: attemptsOf,
  accepted: count(keys.accepted),
  transient: count(keys.transient),
  terminal: count(keys.terminal),
  unknown: count(keys.unknown),
  success: count(keys.success),
  exhausted: count(keys.exhausted),
  cancelled: count(keys.cancelled),
  discarded: count(keys.discarded),
  skipped: count(keys.skipped),
  failure_rate: failureRateOf,
  duration_ms_p50: timeAt("duration", 0.5),
  duration_ms_p95: timeAt("duration", 0.95),
  duration_ms_p99: timeAt("duration", 0.99),
  lag_ms_p50: timeAt("lag", 0.5),
  lag_ms_p95: timeAt("lag", 0.95),
  lag_ms_p99: timeAt("lag", 0.99),
  total_ms_p50: timeAt("total", 0.5),
  total_ms_p95: timeAt("total", 0.95),
  total_ms_p99: timeAt("total", 0.99),
  bytes: count(keys.amount),
};

const ofEvents: Readonly<Record<EventMeasure, Measuring>> = {
  published: count(keys.published),
  duplicate: count(keys.duplicate),
  unmatched: count(keys.unmatched),
  deliveries: count(keys.amount),
};

export type Measures = Readonly<Record<string, number | null>>;

export function measured(counts: Counts, wanted: readonly (DeliveryMeasure | EventMeasure)[]): Measures {
  const all: Readonly<Record<DeliveryMeasure | EventMeasure, Measuring>> = { ...ofDeliveries, ...ofEvents };
  return Object.fromEntries(wanted.map((name) => [name, all[name](counts)]));
}

/** Rarely used measures are excluded; they must be requested by name. */
export const deliveryMeasuresDefault = deliveryMeasures.filter(
  (name) => !/^(?:lag|total)_|^bytes$/.test(name),
);

export const measuresOfNoDeliveries = measured(new Counts(), deliveryMeasuresDefault);
