import { Chart } from "../shared/charts/chart.tsx";
import {
  outcomesChart,
  outcomesSentence,
  publishedChart,
  publishedSentence,
  type Statistics,
} from "../shared/charts/statistics.ts";
import type { Query } from "../shared/api.ts";
import type { Loaded } from "../shared/queries.ts";
import { shell, shellOptions, type ShellText } from "../shared/shell-text.ts";
import { Panel } from "../shared/ui/panel.tsx";
import type { StatisticsRange } from "./statistics-range.ts";

interface TrafficPanelProps {
  readonly loaded: Loaded<Statistics>;
  readonly range: StatisticsRange;
  /** Filters in addition to the range. */
  readonly query?: Query;
  /** Equivalent CLI options. */
  readonly flags?: ShellText;
}

const noOptions = shellOptions([]);

/** Published events over time. */
export function PublishedPanel({ loaded, range, query = {}, flags = noOptions }: TrafficPanelProps) {
  const path = "v1/stats/events";
  return (
    <Panel
      title="Published"
      loaded={loaded}
      twin={{ path, query: { ...range.query, ...query }, cli: shell`stats events${flags}${range.flags}` }}
    >
      {loaded.data !== null && (
        <Chart
          kind="bars"
          title="Events"
          chart={publishedChart(loaded.data)}
          summary={publishedSentence(loaded.data)}
          narrow={range.narrow}
        />
      )}
    </Panel>
  );
}

/** Requests over time, by outcome. */
export function OutcomesPanel({ loaded, range, query = {}, flags = noOptions }: TrafficPanelProps) {
  const path = "v1/stats/deliveries";
  return (
    <Panel
      title="Requests by outcome"
      loaded={loaded}
      twin={{ path, query: { ...range.query, ...query }, cli: shell`stats deliveries${flags}${range.flags}` }}
    >
      {loaded.data !== null && (
        <Chart
          kind="bars"
          title="Requests"
          chart={outcomesChart(loaded.data)}
          summary={outcomesSentence(loaded.data)}
          narrow={range.narrow}
        />
      )}
    </Panel>
  );
}
