/** Responses of `GET /v1/stats/…` as chart data and sentences. */
import { counted, duration } from "../format.ts";

export interface StatisticsPoint {
  readonly at: string;
  /** True for the current, incomplete point. */
  readonly partial?: boolean;
  /** Measures, keyed by name. Durations are null if there were no requests. */
  readonly [measure: string]: unknown;
}

export interface StatisticsSeries {
  readonly key: string | null;
  readonly points: readonly StatisticsPoint[];
  readonly totals: Readonly<Record<string, number | null>>;
}

export interface Statistics {
  readonly step_seconds: number;
  readonly from: string;
  readonly to: string;
  readonly complete_until: string;
  readonly series: readonly StatisticsSeries[];
}

/** Each point holds a summary per gauge, or null if no process reported it. */
export interface Gauges {
  readonly step_seconds: number;
  readonly from: string;
  readonly to: string;
  /** Current counters. The points contain samples of the same counters. */
  readonly now: { readonly at: string; readonly waiting: number; readonly dead_letters: number };
  readonly points: readonly StatisticsPoint[];
}

/** One interval of the time axis. */
export interface Slot {
  readonly from: number;
  readonly to: number;
  readonly isPartial: boolean;
}

export type Fill = "solid" | "hatched" | "striped";
export type SeriesTone = "good" | "wait" | "bad" | "new" | "held";

export interface ChartSeries {
  readonly name: string;
  readonly tone: SeriesTone;
  /** Distinguishes series without colour. Lines are solid, dashed or dotted. */
  readonly fill: Fill;
  /** One value per slot. Null if unknown. */
  readonly values: readonly (number | null)[];
}

export interface ChartData {
  readonly from: number;
  readonly to: number;
  readonly slots: readonly Slot[];
  readonly series: readonly ChartSeries[];
}

export interface Picked extends Omit<ChartSeries, "values"> {
  readonly valueOf: (point: StatisticsPoint) => number | null;
}

/** Value of one measure in a point. Null if the point does not contain it. */
export function measure(point: Readonly<Record<string, unknown>> | undefined, name: string): number | null {
  const value = point?.[name];
  return typeof value === "number" ? value : null;
}

/** Mean of the gauge values that all processes reported for one data point. */
export function gaugeMean(point: StatisticsPoint, name: string): number | null {
  return measure((point[name] ?? undefined) as Readonly<Record<string, unknown>> | undefined, "mean");
}

/** Builds chart data. A slot lasts until the next point, so a slot of one day may have 23 hours. */
export function chartOf(
  answer: Pick<Gauges, "from" | "to" | "step_seconds" | "points">,
  picked: readonly Picked[],
): ChartData {
  const { points, step_seconds } = answer;
  const to = Date.parse(answer.to);
  const slots = points.map(({ at, partial = false }, index) => {
    const from = Date.parse(at);
    const next = points[index + 1]?.at;
    const end = next === undefined ? to : Date.parse(next);
    // A slot of one day lasts until the next point, even across clock changes. Shorter slots have a fixed length, so
    // gaps may follow them.
    const isDay = step_seconds >= 86_400;
    return { from, to: isDay ? end : Math.min(end, from + step_seconds * 1_000), isPartial: partial };
  });
  return {
    from: Date.parse(answer.from),
    to,
    slots,
    series: picked.map(({ name, tone, fill, valueOf }) => ({
      name,
      tone,
      fill,
      values: points.map(valueOf),
    })),
  };
}

/** Sum of all series in a slot. Unknown values count as 0. */
export function stackedHeight({ series }: ChartData, slot: number): number {
  return series.reduce((sum, { values }) => sum + (values[slot] ?? 0), 0);
}

/** Index of the slot that contains a time, or -1. */
export function slotAt({ slots }: ChartData, time: number): number {
  return slots.findIndex(({ from, to }) => from <= time && time < to);
}

function picked(name: string, tone: SeriesTone, fill: Fill, measured: string): Picked {
  return { name, tone, fill, valueOf: (point) => measure(point, measured) };
}

const outcomes: readonly Picked[] = [
  picked("accepted", "good", "solid", "accepted"),
  picked("failed temporarily", "wait", "hatched", "transient"),
  picked("refused", "bad", "striped", "terminal"),
];

const durations: readonly Picked[] = [
  picked("median (p50)", "new", "solid", "duration_ms_p50"),
  picked("95th percentile (p95)", "held", "hatched", "duration_ms_p95"),
];

const nothing = { step_seconds: 60, from: "", to: "" };

/** Prepares an ungrouped response, which has only one series, for `chartOf`. */
function alone(statistics: Statistics): Parameters<typeof chartOf>[0] {
  return { ...nothing, ...statistics, points: statistics.series[0]?.points ?? [] };
}

export function outcomesChart(statistics: Statistics): ChartData {
  return chartOf(alone(statistics), outcomes);
}

export function outcomesSentence({ series }: Statistics): string {
  const totals = series[0]?.totals;
  const attempts = measure(totals, "attempts") ?? 0;
  if (attempts === 0) return "No requests.";
  const share = acceptedShare({ accepted: measure(totals, "accepted") ?? 0, attempts });
  const [failed, refused] = [measure(totals, "transient") ?? 0, measure(totals, "terminal") ?? 0];
  const rest = [
    ...(failed > 0 ? [`${failed.toLocaleString()} failed temporarily`] : []),
    ...(refused > 0 ? [`${refused.toLocaleString()} refused`] : []),
  ];
  const requests = counted(attempts, "request", "requests");
  return `${[`${requests}: ${share} accepted`, ...rest].join(", ")}.`;
}

/** Share of accepted attempts, rounded down so that 100% means all. */
export function acceptedShare(totals: { readonly accepted: number; readonly attempts: number }): string {
  const { accepted, attempts } = totals;
  if (attempts === 0) return "–";
  const percent = Math.floor((10_000 * accepted) / attempts) / 100;
  return `${percent.toLocaleString(undefined, { maximumFractionDigits: 2 })} %`;
}

export function durationsChart(statistics: Statistics): ChartData {
  return chartOf(alone(statistics), durations);
}

export function durationsSentence({ series }: Statistics): string {
  const totals = series[0]?.totals;
  const [half, most] = [measure(totals, "duration_ms_p50"), measure(totals, "duration_ms_p95")];
  if (half === null || most === null) return "No responses.";
  return `Half of the requests took less than ${duration(half)}, 95% less than ${duration(most)}.`;
}

export function publishedChart(statistics: Statistics): ChartData {
  return chartOf(alone(statistics), [picked("published", "new", "solid", "published")]);
}

export function publishedSentence({ series }: Statistics): string {
  const totals = series[0]?.totals;
  const published = measure(totals, "published") ?? 0;
  const unmatched = measure(totals, "unmatched") ?? 0;
  const events = counted(published, "event", "events");
  return unmatched === 0 ? `${events}.` : `${events}, ${unmatched.toLocaleString()} without subscribers.`;
}

/** Values of one measure over time, for a sparkline. */
export function courseOf({ series }: Statistics, name: string): readonly (number | null)[] {
  return (series[0]?.points ?? []).map((point) => measure(point, name));
}
