import { type Share, ShareBars } from "../../shared/charts/bars.tsx";
import { Chart } from "../../shared/charts/chart.tsx";
import {
  durationsChart,
  durationsSentence,
  measure,
  type Statistics,
} from "../../shared/charts/statistics.ts";
import { duration } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";
import { Panel } from "../../shared/ui/panel.tsx";
import { categoryText } from "../delivery/wording.ts";
import { OutcomesPanel, useStatisticsRange, zoneQuery } from "../statistics/traffic-panels.tsx";

const measures = "attempts,accepted,transient,terminal,duration_ms_p50,duration_ms_p95";

/** Charts of a webhook over the time range of the page. */
export function WebhookCharts({ id }: { readonly id: string }) {
  const range = useStatisticsRange();
  const { flags, narrow } = range;
  const query = { ...range.query, webhook_id: id };
  const loaded = useApi<Statistics>({
    path: "v1/stats/deliveries",
    query: { ...query, ...zoneQuery(), measures },
  });
  const { data } = loaded;
  const twin = { path: "v1/stats/deliveries", query, cli: shell`stats deliveries --webhook ${id}${flags}` };
  return (
    <>
      <OutcomesPanel
        {...{ loaded, range }}
        query={{ webhook_id: id }}
        flags={shellOptions([["webhook", id]])}
      />
      <div class="columns-2">
        <Answers query={query} id={id} flags={flags} />
        <Panel title="Response time" loaded={loaded} twin={twin}>
          {data !== null && (
            <Chart
              kind="lines"
              title="Duration"
              chart={durationsChart(data)}
              summary={durationsSentence(data)}
              axisText={duration}
              valueText={duration}
              narrow={narrow}
            />
          )}
        </Panel>
      </div>
    </>
  );
}

interface AnswersProps {
  readonly id: string;
  readonly query: Readonly<Record<string, string>>;
  readonly flags: ShellText;
}

/** Requests by status code, or by failure category without a response. */
function Answers({ id, query, flags }: AnswersProps) {
  const path = "v1/stats/deliveries";
  const byCode = { ...query, group_by: "code" };
  const codes = useApi<Statistics>({ path, query: byCode });
  const categories = useApi<Statistics>({ path, query: { ...query, group_by: "category" } });
  const shares = [
    ...countsOf(codes.data).map(
      ({ key, count }): Share => ({
        key,
        name: <CodeLink id={id} code={key} />,
        count,
        tone: toneOf(key),
      }),
    ),
    ...countsOf(categories.data)
      .filter(({ key }) => hasNoCode.has(key))
      .map(({ key, count }): Share => ({ key, name: categoryText(key), count, tone: "bad" })),
  ].toSorted((left, right) => right.count - left.count);
  return (
    <Panel
      title="Responses"
      loaded={codes}
      twin={{ path, query: byCode, cli: shell`stats deliveries --webhook ${id} --group-by code${flags}` }}
    >
      {shares.length === 0 ? (
        <p class="soft">No requests in this time range.</p>
      ) : (
        <ShareBars label="Responses by status code" shares={shares} />
      )}
    </Panel>
  );
}

/** Failure categories without a response, and so without a status code. */
const hasNoCode = new Set(["timeout", "network", "dns", "ssl", "protocol"]);

function countsOf(statistics: Statistics | null) {
  const counted = (statistics?.series ?? []).map(({ key, totals }) => ({
    key: key ?? "all",
    count: measure(totals, "attempts") ?? 0,
  }));
  return counted.filter(({ key, count }) => count > 0 && key !== "none");
}

function CodeLink({ id, code }: { readonly id: string; readonly code: string }) {
  if (!/^\d{3}$/.test(code)) return <>{code}</>;
  return <a href={`${pagePath("deliveries")}?webhook_id=${id}&http_status=${code}`}>{code}</a>;
}

function toneOf(code: string): Share["tone"] {
  if (code.startsWith("2")) return "good";
  return code.startsWith("4") ? "bad" : "wait";
}
