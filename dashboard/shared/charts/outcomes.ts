/** Charts and summaries of attempts by outcome and of durations. */
import { duration } from "../time/time-format.ts";
import { chartOf, measure, type ChartData, type Picked, type Statistics } from "./statistics.ts";

const outcomes: readonly Picked[] = [
  { name: "accepted", tone: "good", fill: "solid", valueOf: (point) => measure(point, "accepted") },
  {
    name: "failed temporarily",
    tone: "wait",
    fill: "hatched",
    valueOf: (point) => measure(point, "transient"),
  },
  { name: "refused", tone: "bad", fill: "striped", valueOf: (point) => measure(point, "terminal") },
];

const durations: readonly Picked[] = [
  {
    name: "median (p50)",
    tone: "new",
    fill: "solid",
    valueOf: (point) => measure(point, "duration_ms_p50"),
  },
  {
    name: "95th percentile (p95)",
    tone: "held",
    fill: "hatched",
    valueOf: (point) => measure(point, "duration_ms_p95"),
  },
];

const nothing = { step_seconds: 60, from: "", to: "" };

/** The only series of an ungrouped response. */
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
  const requests = `${attempts.toLocaleString()} ${attempts === 1 ? "request" : "requests"}`;
  return `${[`${requests}: ${share} accepted`, ...rest].join(", ")}.`;
}

interface AcceptedOf {
  readonly accepted: number;
  readonly attempts: number;
}

/** Rounded down, so that 100 % means all. */
export function acceptedShare({ accepted, attempts }: AcceptedOf): string {
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
  return `Half of the requests took less than ${duration(half)}, 95 % less than ${duration(most)}.`;
}

export function publishedChart(statistics: Statistics): ChartData {
  return chartOf(alone(statistics), [
    { name: "published", tone: "new", fill: "solid", valueOf: (point) => measure(point, "published") },
  ]);
}

export function publishedSentence({ series }: Statistics): string {
  const totals = series[0]?.totals;
  const published = measure(totals, "published") ?? 0;
  const unmatched = measure(totals, "unmatched") ?? 0;
  const events = `${published.toLocaleString()} ${published === 1 ? "event" : "events"}`;
  return unmatched === 0 ? `${events}.` : `${events}, ${unmatched.toLocaleString()} without subscribers.`;
}

/** Values of one measure over time, for a sparkline. */
export function courseOf({ series }: Statistics, name: string): readonly (number | null)[] {
  return (series[0]?.points ?? []).map((point) => measure(point, name));
}
