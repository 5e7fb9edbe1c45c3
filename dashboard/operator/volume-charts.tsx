import { Chart } from "../shared/charts/chart.tsx";
import {
  outcomesChart,
  outcomesSentence,
  publishedChart,
  publishedSentence,
} from "../shared/charts/outcomes.ts";
import type { Statistics } from "../shared/charts/statistics.ts";
import { useApi } from "../shared/queries.ts";
import { Panel } from "../shared/ui/panel.tsx";
import { useStatisticsRange, zoneQuery } from "./statistics-range.ts";

interface VolumeProps {
  /** Whose. */
  readonly query: Readonly<Record<string, string>>;
  /** The same for the command line. */
  readonly flags: string;
}

/** What was published and what came of it. */
export function VolumeCharts({ query, flags }: VolumeProps) {
  const range = useStatisticsRange();
  const asked = { ...range.query, ...query };
  const events = useApi<Statistics>({ path: "v1/stats/events", query: { ...asked, ...zoneQuery() } });
  const deliveries = useApi<Statistics>({
    path: "v1/stats/deliveries",
    query: { ...asked, ...zoneQuery(), measures: "attempts,accepted,transient,terminal" },
  });
  return (
    <div class="columns-2">
      <Panel
        title="Published"
        loaded={events}
        twin={{ path: "v1/stats/events", query: asked, cli: `stats events${flags}${range.flags}` }}
      >
        {events.data !== null && (
          <Chart
            kind="bars"
            title="Events"
            chart={publishedChart(events.data)}
            summary={publishedSentence(events.data)}
            narrow={range.narrow}
          />
        )}
      </Panel>
      <Panel
        title="Requests by outcome"
        loaded={deliveries}
        twin={{ path: "v1/stats/deliveries", query: asked, cli: `stats deliveries${flags}${range.flags}` }}
      >
        {deliveries.data !== null && (
          <Chart
            kind="bars"
            title="Requests"
            chart={outcomesChart(deliveries.data)}
            summary={outcomesSentence(deliveries.data)}
            narrow={range.narrow}
          />
        )}
      </Panel>
    </div>
  );
}
