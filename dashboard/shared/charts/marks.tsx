import type { ChartData, ChartSeries, Fill } from "./statistics.ts";

/** Maps times and values to positions in the plot. */
export interface Frame {
  readonly x: (time: number) => number;
  readonly y: (value: number) => number;
}

const figure = (value: number) => Number(value.toFixed(1));

/** Fill patterns, so that series differ by more than colour. Referenced as `url(#…)`. */
export function Fills({ id, series }: { readonly id: string; readonly series: readonly ChartSeries[] }) {
  return (
    <defs>
      {series.map(({ tone, fill }, index) => (
        <pattern
          key={index}
          id={`${id}-${index}`}
          class={`series-${tone}`}
          width="5"
          height="5"
          patternUnits="userSpaceOnUse"
          patternTransform={fill === "hatched" ? "rotate(45)" : undefined}
        >
          <FillShape fill={fill} />
        </pattern>
      ))}
    </defs>
  );
}

function FillShape({ fill }: { readonly fill: Fill }) {
  if (fill === "solid") return <rect width="5" height="5" fill="currentColor" />;
  if (fill === "hatched") return <rect width="3.2" height="5" fill="currentColor" />;
  return <rect width="5" height="3.4" fill="currentColor" />;
}

/** Stacked bars, one path per series. */
export function StackedBars({
  chart,
  frame,
  id,
}: {
  readonly chart: ChartData;
  readonly frame: Frame;
  readonly id: string;
}) {
  return (
    <>
      {chart.series.map(({ name }, index) => (
        <g key={name} fill={`url(#${id}-${index})`} class={`series-${chart.series[index]?.tone ?? "new"}`}>
          <path d={barsPath(chart, frame, { index, isPartial: false })} />
          <path class="chart-partial" d={barsPath(chart, frame, { index, isPartial: true })} />
        </g>
      ))}
    </>
  );
}

function barsPath(
  { slots, series }: ChartData,
  { x, y }: Frame,
  { index, isPartial }: { readonly index: number; readonly isPartial: boolean },
): string {
  const parts = slots.map((slot, at) => {
    const value = series[index]?.values[at] ?? 0;
    if (slot.isPartial !== isPartial || value === 0) return "";
    const below = series.slice(0, index).reduce((sum, { values }) => sum + (values[at] ?? 0), 0);
    const [left, right] = [x(slot.from), x(slot.to)];
    const width = Math.max(1, right - left - (right - left > 4 ? 1 : 0));
    const [top, bottom] = [y(below + value), y(below)];
    // At least one pixel, so that small values stay visible.
    const height = Math.max(1, bottom - top);
    return `M${figure(left)} ${figure(bottom - height)}h${figure(width)}v${figure(height)}h${figure(-width)}z`;
  });
  return parts.join("");
}

const dashes: Readonly<Record<Fill, string | undefined>> = {
  solid: undefined,
  hatched: "6 4",
  striped: "2 3",
};

/** One line per series, through the middle of its slots, with gaps for unknown values. */
export function Lines({ chart, frame }: { readonly chart: ChartData; readonly frame: Frame }) {
  return (
    <>
      {chart.series.map((series) => (
        <g key={series.name} class={`series-${series.tone} chart-line`}>
          <path d={linePath(chart, frame, series)} stroke-dasharray={dashes[series.fill]} />
          {lonelyPoints(series.values).map((at) => (
            <circle
              key={at}
              cx={figure(middle(chart, frame, at))}
              cy={figure(frame.y(series.values[at] ?? 0))}
              r="2"
            />
          ))}
        </g>
      ))}
    </>
  );
}

function linePath(chart: ChartData, frame: Frame, { values }: ChartSeries): string {
  let isDrawing = false;
  const parts = values.map((value, at) => {
    const isAfterGap = at > 0 && (chart.slots[at - 1]?.to ?? 0) < (chart.slots[at]?.from ?? 0);
    const command = isDrawing && !isAfterGap ? "L" : "M";
    isDrawing = value !== null;
    return value === null ? "" : `${command}${figure(middle(chart, frame, at))} ${figure(frame.y(value))}`;
  });
  return parts.join("");
}

/** Points between two gaps, which a line would not show. */
function lonelyPoints(values: readonly (number | null)[]): readonly number[] {
  return values.flatMap((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : [],
  );
}

function middle({ slots }: ChartData, { x }: Frame, at: number): number {
  const slot = slots[at];
  return slot === undefined ? 0 : (x(slot.from) + x(slot.to)) / 2;
}
