import type { StatisticsStep } from "../../core/statistics/buckets.ts";
import {
  type GaugeName,
  gaugeNames,
  type GaugeSpan,
  type GaugeSummary,
  joinedSpans,
  summaryOf,
} from "../../core/statistics/gauges.ts";
import type { GaugeRow } from "../../ports/store/statistics.ts";
import { pointAt, type TimeAxis } from "./time-axis.ts";

/** Samples of a point; `at` in Unix milliseconds. */
export interface GaugePoint {
  readonly at: number;
  /** Whether the point is incomplete. */
  readonly isPartial: boolean;
  /** Processes that took samples; a restarted process counts again. */
  readonly processes: number;
  readonly gauges: Readonly<Record<GaugeName, GaugeSummary | null>>;
}

/** The size of buckets for points of this length. */
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
