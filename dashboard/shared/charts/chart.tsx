import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Plot, type PlotProps } from "./plot.tsx";
import { compactNumber, localZone, spanText } from "./scale.ts";
import type { ChartData, ChartSeries, Slot } from "./statistics.ts";

interface ChartProps extends Omit<PlotProps, "axisText" | "valueText"> {
  /** One sentence that summarizes the chart. */
  readonly summary: string;
  readonly axisText?: (value: number) => string;
  readonly valueText?: (value: number) => string;
}

const exact = (value: number): string => value.toLocaleString(undefined, { maximumFractionDigits: 1 });

/** A figure with summary, legend, plot, and the same numbers as a table. */
export function Chart(props: ChartProps) {
  const { chart, title, summary, axisText = compactNumber, valueText = exact } = props;
  const id = useId();
  const plot = { ...props, axisText, valueText };
  return (
    <figure class="chart" aria-labelledby={`${id}-title`} aria-describedby={`${id}-says`}>
      <figcaption>
        {/* Hidden, because the panel shows a title. */}
        <h3 id={`${id}-title`} class="off-screen">
          {title}
        </h3>
        <p id={`${id}-says`} class="soft">
          {summary}
        </p>
      </figcaption>
      {chart.series.length > 1 && <Legend series={chart.series} kind={props.kind} />}
      {chart.slots.length === 0 ? (
        <p class="soft chart-none">No data in this time range.</p>
      ) : (
        <>
          <Plot {...plot} />
          <ChartTable chart={chart} title={title} valueText={valueText} />
        </>
      )}
    </figure>
  );
}

function Legend({
  series,
  kind,
}: {
  readonly series: readonly ChartSeries[];
  readonly kind: PlotProps["kind"];
}) {
  return (
    <ul class="legend">
      {series.map(({ name, tone, fill }) => (
        <li key={name}>
          <span class={`swatch swatch-${kind} swatch-${fill} series-${tone}`} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
}

function ChartTable(props: {
  readonly chart: ChartData;
  readonly title: string;
  readonly valueText: (value: number) => string;
}) {
  const { chart, title, valueText } = props;
  const isOpen = useSignal(false);
  const columns: readonly Column<Slot & { readonly index: number }>[] = [
    {
      title: `Time (${localZone()})`,
      cell: (slot) => `${spanText(slot)}${slot.isPartial ? " (so far)" : ""}`,
    },
    ...chart.series.map(({ name, values }) => ({
      title: name,
      cell: ({ index }: { readonly index: number }) => {
        const value = values[index] ?? null;
        return value === null ? "–" : valueText(value);
      },
      isFigure: true,
    })),
  ];
  return (
    <details class="chart-table" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>
        As table<span class="off-screen">: {title}</span>
      </summary>
      {isOpen.value && (
        <DataTable
          caption={title}
          columns={columns}
          rows={chart.slots.map((slot, index) => Object.assign({ index }, slot)).toReversed()}
          keyOf={({ from }) => String(from)}
          hasNoLinks
        />
      )}
    </details>
  );
}
