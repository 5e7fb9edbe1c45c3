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

/** Default range if the URL contains none. */
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

/** Parameter that makes the server start days at midnight in the browser's time zone. */
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
  readonly of: "events" | "deliveries";
  readonly loaded: Loaded<Statistics>;
  readonly range: StatisticsRange;
  /** Filters that apply in addition to the range. */
  readonly query?: Query;
  /** Equivalent CLI options. */
  readonly flags?: ShellText;
}

const noOptions = shellOptions([]);

const kinds = {
  events: {
    title: "Published",
    what: "Events",
    chartOf: publishedChart,
    sentenceOf: publishedSentence,
  },
  deliveries: {
    title: "Requests by outcome",
    what: "Requests",
    chartOf: outcomesChart,
    sentenceOf: outcomesSentence,
  },
} as const;

/** Published events or requests over time. */
export function TrafficPanel(props: TrafficPanelProps) {
  const { of, loaded, range, query = {}, flags = noOptions } = props;
  const { title, what, chartOf, sentenceOf } = kinds[of];
  return (
    <Panel
      title={title}
      loaded={loaded}
      twin={{
        path: `v1/stats/${of}`,
        query: { ...range.query, ...query },
        cli: shell`stats ${of}${flags}${range.flags}`,
      }}
    >
      {loaded.data !== null && (
        <Chart
          kind="bars"
          title={what}
          chart={chartOf(loaded.data)}
          summary={sentenceOf(loaded.data)}
          narrow={range.narrow}
        />
      )}
    </Panel>
  );
}
