/** Responses of `GET /v1/stats/…` as chart data. */

export interface StatisticsPoint {
  readonly at: string;
  /** True for the current, incomplete point. */
  readonly partial?: boolean;
  /** Measures by name. Durations are null without requests. */
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
  /** Current counters. The points are samples of them. */
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

export interface Picked {
  readonly name: string;
  readonly tone: SeriesTone;
  readonly fill: Fill;
  readonly valueOf: (point: StatisticsPoint) => number | null;
}

/** A measure of a point. */
export function measure(point: Readonly<Record<string, unknown>> | undefined, name: string): number | null {
  const value = point?.[name];
  return typeof value === "number" ? value : null;
}

/** Mean of the values that processes reported in a point. */
export function gaugeMean(point: StatisticsPoint, name: string): number | null {
  return measure((point[name] ?? undefined) as Readonly<Record<string, unknown>> | undefined, "mean");
}

/** Builds chart data. A slot lasts until the next point, so a day may have 23 hours. */
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
    // A day lasts until the next one, even across clock changes. Shorter points may be followed by gaps.
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
