import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../ui/announcer.tsx";
import { Fills, Lines, StackedBars, type Frame } from "./marks.tsx";
import { spanText, timeTicks, valueTicks } from "./scale.ts";
import { slotAt, stackedHeight, type ChartData } from "./statistics.ts";

export interface PlotProps {
  readonly kind: "bars" | "lines";
  readonly chart: ChartData;
  readonly title: string;
  readonly axisText: (value: number) => string;
  readonly valueText: (value: number) => string;
  /** Called with a range selected by dragging, or with Shift and the arrow keys. */
  readonly narrow?: (from: number, to: number) => void;
}

const height = 168;
const room = { left: 46, right: 6, top: 8, bottom: 22 } as const;

/** Plot of a chart: axes, marks, pointed slot and selected range. */
export function Plot(props: PlotProps) {
  const { kind, chart, title, narrow } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const id = useId();
  const at = useSignal<number | null>(null);
  const chosenFrom = useSignal<number | null>(null);
  const ticks = valueTicks(highestOf(chart, kind));
  const frame = frameOf(chart, { width: width.value, highest: ticks.at(-1) ?? 1 });
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
  // Measure before the first paint, so that the plot never has another width than its box.
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

function frameOf(
  { from, to }: ChartData,
  { width, highest }: { readonly width: number; readonly highest: number },
): Frame {
  const inner = { width: width - room.left - room.right, height: height - room.top - room.bottom };
  return {
    x: (time) => room.left + (inner.width * (time - from)) / Math.max(1, to - from),
    y: (value) => room.top + inner.height * (1 - value / highest),
  };
}

function Axes(props: {
  readonly chart: ChartData;
  readonly frame: Frame;
  readonly ticks: readonly number[];
  readonly width: number;
  readonly axisText: (value: number) => string;
}) {
  const { chart, frame, ticks, width, axisText } = props;
  const times = timeTicks(chart, { countMax: Math.max(2, Math.floor(width / 90)) });
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
function Unknown({ chart, frame }: { readonly chart: ChartData; readonly frame: Frame }) {
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

/** First and last slot of the pointed or selected range. */
function chosenSlots(at: number, chosenFrom: number | null): readonly [number, number] {
  return [Math.min(at, chosenFrom ?? at), Math.max(at, chosenFrom ?? at)];
}

function chosenTimes(chart: ChartData, at: number, chosenFrom: number | null): readonly [number, number] {
  const [first, last] = chosenSlots(at, chosenFrom);
  return [chart.slots[first]?.from ?? chart.from, chart.slots[last]?.to ?? chart.to];
}

function Pointed(props: {
  readonly chart: ChartData;
  readonly frame: Frame;
  readonly at: number | null;
  readonly chosenFrom: number | null;
}) {
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

interface ReadoutProps extends PlotProps {
  readonly at: number;
  readonly chosenFrom: number | null;
  readonly frame: Frame;
  readonly width: number;
}

function Readout(props: ReadoutProps) {
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
      {isChoosing ? <Line>release to zoom in</Line> : null}
      {!isChoosing && slot.isPartial ? <Line>so far</Line> : null}
      {!isChoosing &&
        chart.series.map(({ name, values }) => (
          <Line key={name}>
            {name} <b>{shown(values[at], valueText)}</b>
          </Line>
        ))}
    </div>
  );
}

function Line({ children }: { readonly children: ComponentChildren }) {
  return <span>{children}</span>;
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
