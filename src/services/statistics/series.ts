import { failureCategories } from "../../core/outcome.ts";
import { Counts } from "../../core/statistics/counts.ts";
import { categoryKey, keys } from "../../core/statistics/keys.ts";
import type { DeliveryGroup, EventGroup } from "../../core/fields/statistics.ts";
import type { StatisticsRow } from "../../ports/store/statistics.ts";
import { attemptsOf } from "./measures.ts";
import { pointAt, type TimeAxis } from "./time-axis.ts";

/** The data of one line of a chart. */
export interface Series {
  readonly key: string | null;
  /** By index of the point; empty points are absent. */
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
  // Sum per point rather than per row.
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

/** Parts within one bucket: only the number of attempts is known for each. */
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
