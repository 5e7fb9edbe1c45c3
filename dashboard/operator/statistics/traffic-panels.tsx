/** Time range of a page with charts, and the charts that several pages show. */
import { useAddress } from "../../shared/address.ts";
import type { Query } from "../../shared/api.ts";
import { Chart } from "../../shared/charts/chart.tsx";
import { localZone } from "../../shared/charts/scale.ts";
import {
  outcomesChart,
  outcomesSentence,
  publishedChart,
  publishedSentence,
  type Statistics,
} from "../../shared/charts/statistics.ts";
import { minute } from "../../shared/clock.ts";
import type { Loaded } from "../../shared/queries.ts";
import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import { Panel } from "../../shared/ui/panel.tsx";

/** Default if the address has no range. */
export const usualRange = "1h";

export interface StatisticsRange {
  /** Parameters of `GET /v1/stats/…`. */
  readonly query: Readonly<Record<string, string>>;
  /** Equivalent CLI options. */
  readonly flags: ShellText;
  readonly narrow: (from: number, to: number) => void;
}

export function useStatisticsRange(fallback = usualRange): StatisticsRange {
  const { params, set } = useAddress();
  const range = rangeQuery(params, minute.value, fallback);
  return {
    query: range,
    flags: flagsOfRange(range),
    narrow: (from, to) =>
      set({ range: [], from: [new Date(from).toISOString()], to: [new Date(to).toISOString()] }),
  };
}

/** Makes the server use days of the browser's time zone. */
export function zoneQuery(): Readonly<Record<string, string>> {
  return { time_zone: localZone() };
}

/** Options of `posthorn stats`. */
function flagsOfRange({ from, to }: Readonly<Record<string, string>>): ShellText {
  return shellOptions([
    ...(from === undefined ? [] : [["since", from] as const]),
    ...(to === undefined ? [] : [["until", to] as const]),
  ]);
}

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
