import type { ComponentChildren } from "preact";
import type { SeriesTone } from "./statistics.ts";

const width = 120;
const height = 28;
const pointsMin = 24;

/**
 * Small bar chart without axes. The values in `over` are a part of `values` and drawn in front of them. Without a
 * label, the chart is hidden from screen readers, because the adjacent text states the same values.
 */
export function Sparkline(props: {
  readonly values: readonly (number | null)[];
  readonly tone?: SeriesTone;
  readonly over?: { readonly values: readonly (number | null)[]; readonly tone: SeriesTone };
  readonly label?: string;
}) {
  const { values, tone = "new", over, label } = props;
  const highest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  if (highest === 0) return null;
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      preserveAspectRatio="none"
      role={label === undefined ? undefined : "img"}
      aria-label={label}
      aria-hidden={label === undefined}
    >
      <path class={`series-${tone}`} d={barsPath(values, highest)} fill="currentColor" />
      {over !== undefined && (
        <path class={`series-${over.tone}`} d={barsPath(over.values, highest)} fill="currentColor" />
      )}
    </svg>
  );
}

/**
 * Path of the bars. If there are only a few points, they are drawn at the right end with normal width, because wide
 * bars would look like blocks.
 */
function barsPath(values: readonly (number | null)[], highest: number): string {
  const count = Math.max(values.length, pointsMin);
  const step = width / count;
  const bars = values.map((value, at) => {
    const left = (count - values.length + at) * step;
    const tall = ((value ?? 0) / highest) * (height - 2);
    return tall === 0
      ? ""
      : `M${left.toFixed(1)} ${height}v-${Math.max(1.5, tall).toFixed(1)}h${Math.max(0.8, step - 0.6).toFixed(1)}V${height}z`;
  });
  return bars.join("");
}

export interface Share {
  readonly key: string;
  readonly name: ComponentChildren;
  readonly count: number;
  readonly tone: SeriesTone;
}

/** A list of counts with bars. The largest count has the longest bar. */
export function ShareBars({ label, shares }: { readonly label: string; readonly shares: readonly Share[] }) {
  const most = shares.reduce((highest, { count }) => Math.max(highest, count), 1);
  return (
    <ul class="share-bars" aria-label={label}>
      {shares.map(({ key, name, count, tone }) => (
        <li key={key}>
          <span class="share-name">{name}</span>
          <svg
            class={`series-${tone}`}
            width="100%"
            height="12"
            viewBox="0 0 100 12"
            preserveAspectRatio="none"
            aria-hidden="true"
          >
            <rect width={Math.max(0.5, (100 * count) / most)} height="12" rx="1" fill="currentColor" />
          </svg>
          <span class="figure">{count.toLocaleString()}</span>
        </li>
      ))}
    </ul>
  );
}
