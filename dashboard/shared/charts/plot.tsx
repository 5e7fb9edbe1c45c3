import { type Signal, useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../ui/announcer.tsx";
import { spanText, timeTicks, valueTicks } from "./scale.ts";
import { type ChartData, type ChartSeries, type Fill, slotAt, stackedHeight } from "./statistics.ts";

export interface PlotProps {
  readonly kind: "bars" | "lines";
  readonly chart: ChartData;
  readonly title: string;
  readonly axisText: (value: number) => string;
  readonly valueText: (value: number) => string;
  /** Called with a range selected by dragging, or with Shift and the arrow keys. */
  readonly narrow?: (from: number, to: number) => void;
}

/** Maps times and values to positions in the plot. */
interface Frame {
  readonly x: (time: number) => number;
  readonly y: (value: number) => number;
}

interface View {
  readonly chart: ChartData;
  readonly frame: Frame;
}

const height = 168;
const room = { left: 46, right: 6, top: 8, bottom: 22 } as const;

/** Plot of a chart: axes, marks, the slot under the pointer, and the selected range. */
export function Plot(props: PlotProps) {
  const { kind, chart, title, narrow } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const id = useId();
  const at = useSignal<number | null>(null);
  const chosenFrom = useSignal<number | null>(null);
  const ticks = valueTicks(highestOf(chart, kind));
  const frame = frameOf(chart, width.value, ticks.at(-1) ?? 1);
  const handlers = usePointing({ ...props, box, width, at, chosenFrom });
  return (
    <div
      ref={box}
      class={narrow === undefined ? "plot" : "plot plot-narrowing"}
      tabIndex={0}
      role="group"
      aria-label={`${title}: arrow keys read values${narrow === undefined ? "" : ", Shift and arrow keys select a range, Enter zooms in"}`}
      {...handlers}
    >
      <svg width={width.value} height={height} aria-hidden="true">
        <Fills id={id} series={chart.series} />
        <Axes {...{ chart, frame, ticks, width: width.value, axisText: props.axisText }} />
        <Unknown chart={chart} frame={frame} />
        {kind === "bars" ? <StackedBars {...{ chart, frame, id }} /> : <Lines {...{ chart, frame }} />}
        <Pointed {...{ chart, frame, at: at.value, chosenFrom: chosenFrom.value }} />
      </svg>
      {at.value !== null && (
        <Readout {...props} at={at.value} chosenFrom={chosenFrom.value} frame={frame} width={width.value} />
      )}
    </div>
  );
}

function useWidth(box: { readonly current: HTMLElement | null }): Signal<number> {
  const width = useSignal(600);
  // Measure before the first paint, so that the plot always has the width of its box.
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const fit = (available: number) => (width.value = Math.max(120, Math.floor(available)));
    fit(current.getBoundingClientRect().width);
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) fit(entry.contentRect.width);
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function highestOf(chart: ChartData, kind: PlotProps["kind"]): number {
  const heights =
    kind === "bars"
      ? chart.slots.map((_, slot) => stackedHeight(chart, slot))
      : chart.series.flatMap(({ values }) => values.map((value) => value ?? 0));
  return heights.reduce((highest, value) => Math.max(highest, value), 0);
}

function frameOf({ from, to }: ChartData, width: number, highest: number): Frame {
  const inner = { width: width - room.left - room.right, height: height - room.top - room.bottom };
  return {
    x: (time) => room.left + (inner.width * (time - from)) / Math.max(1, to - from),
    y: (value) => room.top + inner.height * (1 - value / highest),
  };
}

function Axes(
  props: View & Pick<PlotProps, "axisText"> & { readonly ticks: readonly number[]; readonly width: number },
) {
  const { chart, frame, ticks, width, axisText } = props;
  const times = timeTicks(chart, Math.max(2, Math.floor(width / 90)));
  return (
    <g class="chart-axes">
      {ticks.map((value) => (
        <g key={value}>
          <line x1={room.left} x2={width - room.right} y1={frame.y(value)} y2={frame.y(value)} />
          <text x={room.left - 6} y={frame.y(value) + 4} text-anchor="end">
            {axisText(value)}
          </text>
        </g>
      ))}
      {times.map(({ at, label }) => (
        <text
          key={at}
          x={Math.min(width - 16, Math.max(room.left + 8, frame.x(at)))}
          y={height - 5}
          text-anchor="middle"
        >
          {label}
        </text>
      ))}
    </g>
  );
}

/** Marks the time before the first point, where values are unknown and not zero. */
function Unknown({ chart, frame }: View) {
  const first = chart.slots[0]?.from ?? chart.to;
  const width = frame.x(first) - frame.x(chart.from);
  return width < 2 ? null : (
    <rect
      class="chart-unknown"
      x={frame.x(chart.from)}
      y={room.top}
      width={width}
      height={height - room.top - room.bottom}
    />
  );
}

/** First and last slot of the selected range. Without a selection, both are the slot under the pointer. */
function chosenSlots(at: number, chosenFrom: number | null): readonly [number, number] {
  return [Math.min(at, chosenFrom ?? at), Math.max(at, chosenFrom ?? at)];
}

function chosenTimes(chart: ChartData, at: number, chosenFrom: number | null): readonly [number, number] {
  const [first, last] = chosenSlots(at, chosenFrom);
  return [chart.slots[first]?.from ?? chart.from, chart.slots[last]?.to ?? chart.to];
}

function Pointed(props: View & { readonly at: number | null; readonly chosenFrom: number | null }) {
  const { chart, frame, at, chosenFrom } = props;
  if (at === null) return null;
  const [from, to] = chosenTimes(chart, at, chosenFrom);
  return (
    <rect
      class={chosenFrom === null ? "chart-pointed" : "chart-chosen"}
      x={frame.x(from)}
      y={room.top}
      width={Math.max(2, frame.x(to) - frame.x(from))}
      height={height - room.top - room.bottom}
    />
  );
}

function Readout(
  props: View &
    PlotProps & { readonly at: number; readonly chosenFrom: number | null; readonly width: number },
) {
  const { chart, at, chosenFrom, frame, width, valueText } = props;
  const slot = chart.slots[at];
  if (slot === undefined) return null;
  const isChoosing = chosenFrom !== null && chosenFrom !== at;
  const [from, to] = chosenTimes(chart, at, chosenFrom);
  const left = frame.x(slot.from);
  const side =
    left > width / 2
      ? { insetInlineEnd: `${width - left + 8}px` }
      : { insetInlineStart: `${frame.x(slot.to) + 8}px` };
  return (
    <div class="chart-readout" style={side} aria-hidden="true">
      <strong>{spanText({ from, to })}</strong>
      {isChoosing && <span>release to zoom in</span>}
      {!isChoosing && slot.isPartial && <span>so far</span>}
      {!isChoosing &&
        chart.series.map(({ name, values }) => (
          <span key={name}>
            {name} <b>{shown(values[at], valueText)}</b>
          </span>
        ))}
    </div>
  );
}

function shown(value: number | null | undefined, valueText: (value: number) => string): string {
  return value === null || value === undefined ? "–" : valueText(value);
}

/** One slot as text, for screen readers. */
function sentenceOf({ chart, valueText }: PlotProps, at: number): string {
  const slot = chart.slots[at];
  if (slot === undefined) return "";
  const values = chart.series.map(({ name, values: all }) => `${name} ${shown(all[at], valueText)}`);
  return `${spanText(slot)}${slot.isPartial ? ", so far" : ""}: ${values.join(", ")}`;
}

interface Pointing extends PlotProps {
  readonly box: { readonly current: HTMLElement | null };
  readonly width: Signal<number>;
  readonly at: Signal<number | null>;
  readonly chosenFrom: Signal<number | null>;
}

function usePointing(props: Pointing) {
  const { chart, narrow, box, width, at, chosenFrom } = props;
  const slotOf = ({ clientX }: PointerEvent): number | null => {
    const left = box.current?.getBoundingClientRect().left ?? 0;
    const share = (clientX - left - room.left) / (width.value - room.left - room.right);
    const slot = slotAt(chart, chart.from + share * (chart.to - chart.from));
    return slot < 0 ? null : slot;
  };
  const end = () => {
    const [from, to] = at.value === null ? [null, null] : [chosenFrom.value, at.value];
    chosenFrom.value = null;
    if (from !== null && to !== null && from !== to) narrow?.(...chosenTimes(chart, to, from));
  };
  return {
    onPointerMove: (event: PointerEvent) =>
      (at.value = slotOf(event) ?? (chosenFrom.value === null ? null : at.value)),
    onPointerLeave: () => {
      if (chosenFrom.value === null) at.value = null;
    },
    onPointerDown: (event: PointerEvent) => {
      if (narrow === undefined || event.button !== 0 || event.pointerType === "touch") return;
      chosenFrom.value = slotOf(event);
      box.current?.setPointerCapture(event.pointerId);
    },
    onPointerUp: end,
    onPointerCancel: () => (chosenFrom.value = null),
    onBlur: () => {
      at.value = null;
      chosenFrom.value = null;
    },
    onKeyDown: (event: KeyboardEvent) => moveByKey(event, props, end),
  };
}

function moveByKey(event: KeyboardEvent, props: Pointing, end: () => void): void {
  const { chart, at, chosenFrom, narrow } = props;
  const last = chart.slots.length - 1;
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: Math.max(0, (at.value ?? last + 1) - 1),
    ArrowRight: Math.min(last, (at.value ?? -1) + 1),
    Home: 0,
    End: last,
  };
  const target = targets[event.key];
  if (event.key === "Escape" && at.value !== null) {
    at.value = null;
    chosenFrom.value = null;
  } else if (event.key === "Enter" && narrow !== undefined) end();
  else if (target !== undefined && last >= 0) {
    chosenFrom.value =
      event.shiftKey && narrow !== undefined ? (chosenFrom.value ?? at.value ?? target) : null;
    at.value = target;
    announce(sentenceOf(props, target));
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

const figure = (value: number) => Number(value.toFixed(1));

/** Fill patterns, so that series differ by more than colour. Referenced as `url(#…)`. */
function Fills({ id, series }: { readonly id: string; readonly series: readonly ChartSeries[] }) {
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
function StackedBars({ chart, frame, id }: View & { readonly id: string }) {
  return (
    <>
      {chart.series.map(({ name }, index) => (
        <g key={name} fill={`url(#${id}-${index})`} class={`series-${chart.series[index]?.tone ?? "new"}`}>
          <path d={barsPath({ chart, frame }, index, false)} />
          <path class="chart-partial" d={barsPath({ chart, frame }, index, true)} />
        </g>
      ))}
    </>
  );
}

function barsPath({ chart, frame }: View, index: number, isPartial: boolean): string {
  const { slots, series } = chart;
  const { x, y } = frame;
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
function Lines({ chart, frame }: View) {
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

/** Points between two gaps, which need a separate mark because a line would not show them. */
function lonelyPoints(values: readonly (number | null)[]): readonly number[] {
  return values.flatMap((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : [],
  );
}

function middle({ slots }: ChartData, { x }: Frame, at: number): number {
  const slot = slots[at];
  return slot === undefined ? 0 : (x(slot.from) + x(slot.to)) / 2;
}
