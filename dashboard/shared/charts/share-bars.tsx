import type { ComponentChildren } from "preact";
import type { SeriesTone } from "./statistics.ts";

export interface Share {
  readonly key: string;
  readonly name: ComponentChildren;
  readonly count: number;
  readonly tone: SeriesTone;
}

/** Counts with bars relative to the largest. */
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
