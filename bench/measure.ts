// Statistics for comparing measurements: medians, percentiles, and runs that alternate with their baseline.

import type { PacedEvent } from "./product/product.ts";
import type { RawSample } from "./raw/raw.ts";
import type { Context, Line } from "./row.ts";

/** The middle value, or the mean of the two middle values. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? Number.NaN)) / 2 : upper;
}

/** Nearest-rank percentile: at least `share` of the values are not larger. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

// ---- compared with raw -------------------------------------------------------------------------------------------

/** The cost of the deliveries in one run. */
export interface Figure {
  readonly perSecond: number;
  /** CPU time of the measured process per delivery, in microseconds. */
  readonly cpuUs: number;
  /** The part of `cpuUs` that the main thread used. */
  readonly mainCpuUs: number;
  /** CPU time of the sink, as a share of one core. */
  readonly sinkCpuShare: number;
}

/** Medians of several runs, each between two `raw` samples. */
export interface ComparedWithRaw {
  readonly value: number;
  readonly baseline: number;
  /** Median of the ratios of each run to the `raw` samples around it. It may differ from value / baseline. */
  readonly ratio: number;
  readonly mainCpuUs: number;
}

/**
 * Measures in the order raw, run, raw, run, …, raw. The machine's speed varies, so each run is compared only with its
 * neighbours.
 */
export async function compareWithRaw(
  context: Context,
  name: string,
  measure: () => Promise<Figure>,
  sampleRaw: () => Promise<RawSample> = () => context.raw.sample(),
): Promise<ComparedWithRaw> {
  const raws: RawSample[] = [await sampleRaw()];
  const figures: Figure[] = [];
  const ratios: number[] = [];
  for (let run = 0; run < context.runs; run += 1) {
    const figure = await measure();
    const before = raws.at(-1) as RawSample;
    const after = await sampleRaw();
    const ratio = (figure.perSecond * 2) / (before.perSecond + after.perSecond);
    raws.push(after);
    figures.push(figure);
    ratios.push(ratio);
    context.progress(
      `${name}: ${rounded(figure.perSecond)}/s between raw ${rounded(before.perSecond)} and ` +
        `${rounded(after.perSecond)}/s: ${ratio.toFixed(3)}`,
    );
  }
  const cpuUs = median(figures.map((figure) => figure.cpuUs));
  const mainCpuUs = median(figures.map((figure) => figure.mainCpuUs));
  const rawCpuUs = median(raws.map((sample) => sample.cpuUs));
  const sinkPercent = Math.round(100 * Math.max(...figures.map((figure) => figure.sinkCpuShare)));
  context.note(
    `${name}: ${cpuUs.toFixed(1)} µs of processor time each (main thread ${mainCpuUs.toFixed(1)}), raw ${rawCpuUs.toFixed(1)} µs ` +
      `(ratio ${(rawCpuUs / cpuUs).toFixed(2)}); ratios of the runs ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}; ` +
      `sink at ${sinkPercent} % of a core`,
  );
  return {
    value: median(figures.map((figure) => figure.perSecond)),
    baseline: median(raws.map((sample) => sample.perSecond)),
    ratio: median(ratios),
    mainCpuUs,
  };
}

/** The result line of a row that is compared with `raw`. Without `ratioMin`, the row has no goal. */
export function lineOfRatio(
  name: string,
  unit: string,
  { value, baseline, ratio }: ComparedWithRaw,
  ratioMin: number | null,
): Line {
  const line = { name, value, unit, baseline, ratio };
  if (ratioMin === null) return withoutGoal(line);
  return atLeast(line, ratioMin, "raw");
}

function rounded(perSecond: number): string {
  return Math.round(perSecond).toLocaleString("en");
}

// ---- with and without an additional load -------------------------------------------------------------------------

/** The same measurement without and with an additional load. */
export interface Pair<Value> {
  readonly without: Value;
  readonly burdened: Value;
}

/**
 * Measures both cases in each run. The case that comes first alternates, because the second one benefits from warm
 * caches.
 */
export async function measurePairs<Value>(
  { runs }: Context,
  without: () => Promise<Value>,
  burdened: () => Promise<Value>,
): Promise<readonly Pair<Value>[]> {
  const pairs: Pair<Value>[] = [];
  for (let run = 0; run < runs; run += 1) {
    if (run % 2 === 0) {
      const first = await without();
      pairs.push({ without: first, burdened: await burdened() });
    } else {
      const first = await burdened();
      pairs.push({ without: await without(), burdened: first });
    }
  }
  return pairs;
}

/** Medians of one measurement over the pairs. */
export function comparePairs<Value>(
  pairs: readonly Pair<Value>[],
  figureOf: (value: Value) => number,
): { readonly value: number; readonly baseline: number; readonly ratio: number } {
  return {
    value: median(pairs.map(({ burdened }) => figureOf(burdened))),
    baseline: median(pairs.map(({ without }) => figureOf(without))),
    ratio: median(pairs.map(({ burdened, without }) => figureOf(burdened) / figureOf(without))),
  };
}

// ---- goals -------------------------------------------------------------------------------------------------------

type Measured = Omit<Line, "goal" | "pass">;

export function withoutGoal(line: Measured): Line {
  return { ...line, goal: null, pass: null };
}

/** A result line with a goal for its ratio. */
export function judged(line: Measured, goal: string, met: (ratio: number) => boolean): Line {
  return { ...line, goal, pass: line.ratio === null ? null : met(line.ratio) };
}

export function atLeast(line: Measured, ratioMin: number, what: string): Line {
  return judged(line, `≥ ${ratioMin.toFixed(2)} × ${what}`, (ratio) => ratio >= ratioMin);
}

export function atMost(line: Measured, ratioMax: number, what: string): Line {
  return judged(line, `≤ ${ratioMax} × ${what}`, (ratio) => ratio <= ratioMax);
}

// ---- delays ------------------------------------------------------------------------------------------------------

export interface DelayP95 {
  /** Measured from the time when the publish call resolved. */
  readonly fromAcceptedMs: number;
  /** Measured from the call to publish, so the commit is included. */
  readonly fromPublishedMs: number;
}

/** How long the events took to reach the sink. Throws if an event has not arrived. */
export function delayP95(events: readonly PacedEvent[], arrivals: ReadonlyMap<string, number>): DelayP95 {
  const delays = (from: "acceptedAt" | "publishedAt"): number[] =>
    events.map((event) => {
      const arrivedAt = arrivals.get(event.id);
      if (arrivedAt === undefined) throw new Error(`event ${event.id} did not arrive`);
      return arrivedAt - event[from];
    });
  return {
    fromAcceptedMs: percentile(delays("acceptedAt"), 0.95),
    fromPublishedMs: percentile(delays("publishedAt"), 0.95),
  };
}
