import type { Statistics } from "../shared/charts/statistics.ts";
import { useApi } from "../shared/queries.ts";
import type { ShellText } from "../shared/shell-text.ts";
import { useStatisticsRange, zoneQuery } from "./statistics-range.ts";
import { OutcomesPanel, PublishedPanel } from "./traffic-panels.tsx";

interface VolumeProps {
  /** Filters in addition to the range. */
  readonly query: Readonly<Record<string, string>>;
  /** Equivalent CLI options. */
  readonly flags: ShellText;
}

/** Charts of published events and of request outcomes. */
export function VolumeCharts({ query, flags }: VolumeProps) {
  const range = useStatisticsRange();
  const asked = { ...range.query, ...query, ...zoneQuery() };
  const events = useApi<Statistics>({ path: "v1/stats/events", query: asked });
  const deliveries = useApi<Statistics>({
    path: "v1/stats/deliveries",
    query: { ...asked, measures: "attempts,accepted,transient,terminal" },
  });
  return (
    <div class="columns-2">
      <PublishedPanel {...{ range, query, flags }} loaded={events} />
      <OutcomesPanel {...{ range, query, flags }} loaded={deliveries} />
    </div>
  );
}
