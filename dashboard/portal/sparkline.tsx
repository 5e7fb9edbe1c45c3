/** Attempts per hour over the last day, with failed attempts on top. */
export interface Point {
  readonly at: string;
  readonly attempts?: number | null;
  readonly accepted?: number | null;
}

const height = 24;
const barWidth = 4;

export function Sparkline({ points, label }: { readonly points: readonly Point[]; readonly label: string }) {
  const shown = points.slice(-24);
  const most = Math.max(1, ...shown.map(({ attempts }) => attempts ?? 0));
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${24 * (barWidth + 1)} ${height}`}
      width={24 * (barWidth + 1)}
      height={height}
      role="img"
      aria-label={label}
    >
      {shown.map(({ at, attempts, accepted }, index) => {
        const all = ((attempts ?? 0) / most) * height;
        const good = ((accepted ?? 0) / most) * height;
        const x = (24 - shown.length + index) * (barWidth + 1);
        return (
          <g key={at}>
            <rect class="bar-bad" x={x} y={height - all} width={barWidth} height={Math.max(0, all - good)} />
            <rect class="bar-good" x={x} y={height - good} width={barWidth} height={good} />
          </g>
        );
      })}
    </svg>
  );
}
