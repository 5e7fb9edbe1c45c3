/** What `GET /v1/stats/…` answers with, as charts take it. */

export interface StatisticsPoint {
  readonly at: string;
  /** True while it is not over. */
  readonly partial?: boolean;
  /** Measures by name; a time is null where nothing was counted. */
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

/** A summary by the name of the gauge; null where no process knew it. */
export interface Gauges {
  readonly step_seconds: number;
  readonly from: string;
  readonly to: string;
  /** Counters at this moment; the points are samples of them. */
  readonly now: { readonly at: string; readonly waiting: number; readonly dead_letters: number };
  readonly points: readonly StatisticsPoint[];
}

/** One span of the axis of time. */
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
  /** Told apart by this too, not by colour alone. A line is whole, dashed or dotted. */
  readonly fill: Fill;
  /** One for each slot; null where nothing is known. */
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

/** The middle of what processes read in a point. */
export function gaugeMean(point: StatisticsPoint, name: string): number | null {
  return measure((point[name] ?? undefined) as Readonly<Record<string, unknown>> | undefined, "mean");
}

/** A chart of some measures of points; each lasts until the next one, so a day may have 23 hours. */
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
    // A day lasts until the next one, whatever the clocks do; shorter points may have gaps behind them.
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

/** Of what nobody counts, a sum: values of all series in a slot. */
export function stackedHeight({ series }: ChartData, slot: number): number {
  return series.reduce((sum, { values }) => sum + (values[slot] ?? 0), 0);
}

/** The slot that holds a time; -1 where none does. */
export function slotAt({ slots }: ChartData, time: number): number {
  return slots.findIndex(({ from, to }) => from <= time && time < to);
}
