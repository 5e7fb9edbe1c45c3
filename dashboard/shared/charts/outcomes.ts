/** Charts of attempts by what came of them, of how long they took, and the sentences beside them. */
import { duration } from "../time/time-format.ts";
import { chartOf, measure, type ChartData, type Picked, type Statistics } from "./statistics.ts";

const outcomes: readonly Picked[] = [
  { name: "accepted", tone: "good", fill: "solid", valueOf: (point) => measure(point, "accepted") },
  { name: "failed for now", tone: "wait", fill: "hatched", valueOf: (point) => measure(point, "transient") },
  { name: "refused for good", tone: "bad", fill: "striped", valueOf: (point) => measure(point, "terminal") },
];

const durations: readonly Picked[] = [
  {
    name: "half are faster (p50)",
    tone: "new",
    fill: "solid",
    valueOf: (point) => measure(point, "duration_ms_p50"),
  },
  {
    name: "95 of 100 are faster (p95)",
    tone: "held",
    fill: "hatched",
    valueOf: (point) => measure(point, "duration_ms_p95"),
  },
];

const nothing = { step_seconds: 60, from: "", to: "" };

/** The only series of an answer that is not grouped. */
function alone(statistics: Statistics): Parameters<typeof chartOf>[0] {
  return { ...nothing, ...statistics, points: statistics.series[0]?.points ?? [] };
}

export function outcomesChart(statistics: Statistics): ChartData {
  return chartOf(alone(statistics), outcomes);
}

export function outcomesSentence({ series }: Statistics): string {
  const totals = series[0]?.totals;
  const attempts = measure(totals, "attempts") ?? 0;
  if (attempts === 0) return "No request was made.";
  const share = acceptedShare({ accepted: measure(totals, "accepted") ?? 0, attempts });
  const [failed, refused] = [measure(totals, "transient") ?? 0, measure(totals, "terminal") ?? 0];
  const rest = [
    ...(failed > 0 ? [`${failed.toLocaleString()} failed for now`] : []),
    ...(refused > 0 ? [`${refused.toLocaleString()} refused for good`] : []),
  ];
  const requests = `${attempts.toLocaleString()} ${attempts === 1 ? "request" : "requests"}`;
  return `${[`${requests}: ${share} accepted`, ...rest].join(", ")}.`;
}

interface AcceptedOf {
  readonly accepted: number;
  readonly attempts: number;
}

/** Never rounded up to all of them. */
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
  if (half === null || most === null) return "No request was answered.";
  return `Half of the requests took less than ${duration(half)}, 95 of 100 less than ${duration(most)}.`;
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
  return unmatched === 0
    ? `${events}.`
    : `${events}; nobody asked for ${unmatched.toLocaleString()} of them.`;
}

/** What one measure did over time, for a sparkline. */
export function courseOf({ series }: Statistics, name: string): readonly (number | null)[] {
  return (series[0]?.points ?? []).map((point) => measure(point, name));
}
