import type { ComponentChildren } from "preact";
import { Sparkline } from "../../shared/charts/bars.tsx";
import { Chart } from "../../shared/charts/chart.tsx";
import { compactNumber } from "../../shared/charts/scale.ts";
import {
  acceptedShare,
  chartOf,
  courseOf,
  gaugeMean,
  type Gauges,
  measure,
  type SeriesTone,
  type Statistics,
} from "../../shared/charts/statistics.ts";
import { counted, duration } from "../../shared/format.ts";
import { type Loaded, useApi } from "../../shared/queries.ts";
import type { ListedWebhook, Page } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { column } from "../lists/columns.tsx";
import { Rows } from "../lists/list-page.tsx";
import {
  type StatisticsRange,
  TrafficPanel,
  useStatisticsRange,
  zoneQuery,
} from "../statistics/traffic-panels.tsx";
import { durationText, failedText, useCourses, WaitingText } from "../webhook/webhook-figures.tsx";
import { type Health, WebhookLink } from "../webhook/webhook-link.tsx";

const deliveryMeasures =
  "attempts,accepted,transient,terminal,duration_ms_p50,duration_ms_p95,lag_ms_p95,success,exhausted";

/** Traffic over the time range of the page. `children` is shown between the charts. */
export function Traffic(props: { readonly gauges: Loaded<Gauges>; readonly children: ComponentChildren }) {
  const { gauges, children } = props;
  const range = useStatisticsRange();
  const query = { ...range.query, ...zoneQuery() };
  const deliveries = useApi<Statistics>(
    { path: "v1/stats/deliveries", query: { ...query, measures: deliveryMeasures } },
    { news: "stats" },
  );
  const events = useApi<Statistics>({ path: "v1/stats/events", query }, { news: "stats" });
  return (
    <>
      <div class="tiles">
        {events.data !== null && <PublishedTile events={events.data} />}
        {deliveries.data !== null && <DeliveredTile deliveries={deliveries.data} gauges={gauges.data} />}
        {gauges.data !== null && <BacklogTile gauges={gauges.data} deliveries={deliveries.data} />}
        {deliveries.data !== null && <AcceptedTile deliveries={deliveries.data} />}
        {deliveries.data !== null && <DurationTile deliveries={deliveries.data} />}
      </div>
      <TrafficPanel of="deliveries" loaded={deliveries} range={range} />
      {children}
      <TopWebhooks />
      <div class="columns-2">
        <TrafficPanel of="events" loaded={events} range={range} />
        {gauges.data !== null && <BacklogPanel loaded={gauges} gauges={gauges.data} range={range} />}
      </div>
    </>
  );
}

function BacklogPanel(props: {
  readonly loaded: Loaded<Gauges>;
  readonly gauges: Gauges;
  readonly range: StatisticsRange;
}) {
  const { loaded, gauges, range } = props;
  const { waiting, dead_letters: deadLetters } = gauges.now;
  return (
    <Panel
      title="Backlog"
      loaded={loaded}
      twin={{ path: "v1/stats/gauges", query: range.query, cli: shell`stats gauges${range.flags}` }}
    >
      <Chart
        kind="lines"
        title="Waiting deliveries"
        chart={backlogChart(gauges)}
        summary={`${waiting.toLocaleString()} waiting, ${counted(deadLetters, "dead letter", "dead letters")}.`}
        narrow={range.narrow}
      />
    </Panel>
  );
}

interface TileProps {
  readonly title: string;
  readonly figure: string;
  readonly course: readonly (number | null)[];
  readonly tone?: SeriesTone;
  readonly children: ComponentChildren;
}

function Tile({ title, figure, course, tone = "new", children }: TileProps) {
  return (
    <section class="tile">
      <h2>{title}</h2>
      <span class="tile-figure">{figure}</span>
      <Sparkline values={course} tone={tone} />
      <p class="tile-note">{children}</p>
    </section>
  );
}

function PublishedTile({ events }: { readonly events: Statistics }) {
  const published = measure(events.series[0]?.totals, "published") ?? 0;
  return (
    <Tile title="Published" figure={compactNumber(published)} course={courseOf(events, "published")}>
      {rateText(events, "published")}
    </Tile>
  );
}

/** Counts deliveries, not requests: a waiting delivery counts as not accepted. */
function DeliveredTile(props: { readonly deliveries: Statistics; readonly gauges: Gauges | null }) {
  const { deliveries, gauges } = props;
  const totals = deliveries.series[0]?.totals;
  const [success, exhausted] = [measure(totals, "success") ?? 0, measure(totals, "exhausted") ?? 0];
  const waiting = gauges?.now.waiting ?? 0;
  return (
    <Tile
      title="Deliveries accepted"
      figure={acceptedShare({ accepted: success, attempts: success + exhausted + waiting })}
      course={courseOf(deliveries, "success")}
      tone="good"
    >
      {success.toLocaleString()} accepted, {counted(exhausted, "dead letter", "dead letters")}
      {gauges !== null && `, ${waiting.toLocaleString()} waiting`}
    </Tile>
  );
}

function AcceptedTile({ deliveries }: { readonly deliveries: Statistics }) {
  const totals = deliveries.series[0]?.totals;
  const [accepted, attempts] = [measure(totals, "accepted") ?? 0, measure(totals, "attempts") ?? 0];
  return (
    <Tile
      title="Requests accepted"
      figure={acceptedShare({ accepted, attempts })}
      course={courseOf(deliveries, "accepted")}
      tone="good"
    >
      {compactNumber(accepted)} of {compactNumber(attempts)}; {rateText(deliveries, "accepted")}
    </Tile>
  );
}

function DurationTile({ deliveries }: { readonly deliveries: Statistics }) {
  const totals = deliveries.series[0]?.totals;
  const [half, most] = [measure(totals, "duration_ms_p50"), measure(totals, "duration_ms_p95")];
  return (
    <Tile
      title="Response time (p95)"
      figure={most === null ? "–" : duration(most)}
      course={courseOf(deliveries, "duration_ms_p95")}
      tone="held"
    >
      {half === null ? "no responses" : `median ${duration(half)}`}
    </Tile>
  );
}

function BacklogTile(props: { readonly gauges: Gauges; readonly deliveries: Statistics | null }) {
  const { gauges, deliveries } = props;
  const lag = measure(deliveries?.series[0]?.totals, "lag_ms_p95");
  return (
    <Tile
      title="Waiting"
      figure={compactNumber(gauges.now.waiting)}
      course={gauges.points.map(waitingIn)}
      tone="wait"
    >
      {lag === null ? "nothing was sent" : `95% of first attempts within ${duration(lag)}`}
    </Tile>
  );
}

/** Value of the newest complete point. If there are only incomplete points, the value of the newest one. */
function lastFull({ series }: Statistics, name: string): number {
  const points = series[0]?.points ?? [];
  const last = points.findLast(({ partial = false }) => !partial) ?? points.at(-1);
  return measure(last, name) ?? 0;
}

function rateText(statistics: Statistics, name: string): string {
  const count = lastFull(statistics, name);
  const perSecond = count / statistics.step_seconds;
  if (count === 0) return "none recently";
  return perSecond >= 1
    ? `recently ${compactNumber(perSecond)} per second`
    : `recently ${compactNumber(perSecond * 60)} per minute`;
}

const priorities = ["waiting_high", "waiting_normal", "waiting_low"] as const;

function waitingIn(point: Gauges["points"][number]): number | null {
  const known = priorities.map((name) => gaugeMean(point, name)).filter((value) => value !== null);
  return known.length === 0 ? null : Math.round(known.reduce((sum, value) => sum + value, 0));
}

function backlogChart(gauges: Gauges) {
  return chartOf(gauges, [
    { name: "waiting", tone: "wait", fill: "solid", valueOf: waitingIn },
    {
      name: "dead letters",
      tone: "bad",
      fill: "striped",
      valueOf: (point) => gaugeMean(point, "dead_letters"),
    },
    { name: "in flight", tone: "new", fill: "hatched", valueOf: (point) => gaugeMean(point, "in_flight") },
  ]);
}

const topMax = 6;
/** The server sorts and limits the webhooks, because series of all webhooks would be too much data. */
const topQuery = { sort: "failures", limit: topMax, include: ["stats", "backlog", "health_counts"] };

type WebhooksOfOverview = Page<ListedWebhook> & {
  readonly health_counts?: Readonly<Record<Health, number>>;
};

/** One call for this list and for the health line of the page. */
export function useTopWebhooks() {
  return useApi<WebhooksOfOverview>({ path: "v1/webhooks", query: topQuery }, { news: "stats" });
}

function topColumns(courses: ReturnType<typeof useCourses>): readonly Column<ListedWebhook>[] {
  return [
    column.text("Webhook", (row) => <WebhookLink id={row.id} url={row.url} health={row.health} />),
    column.text("Requests", (row) => <Sparkline values={courses.get(row.id) ?? []} />),
    column.figure("Failed", ({ stats }) => failureCount(stats).toLocaleString()),
    column.figure("Failure rate", ({ stats }) => failedText(stats?.failure_rate ?? null)),
    column.figure("Waiting", (row) => <WaitingText backlog={row.backlog ?? null} />),
    column.figure("p95", ({ stats }) => durationText(stats?.duration_ms_p95 ?? null), "medium"),
  ];
}

function failureCount(stats: ListedWebhook["stats"]): number {
  return (stats?.attempts ?? 0) - (stats?.accepted ?? 0);
}

/** Webhooks with the most failures in the last day. */
function TopWebhooks() {
  const loaded = useTopWebhooks();
  const rows = (loaded.data?.data ?? []).filter(({ stats }) => failureCount(stats) > 0);
  const courses = useCourses(rows.map(({ id }) => id));
  return (
    <Panel
      title="Webhooks by failures, last 24 hours"
      loaded={loaded}
      tools={<a href={`${pagePath("webhooks")}?sort=backlog`}>By backlog</a>}
      twin={{ path: "v1/webhooks", query: topQuery, cli: shell`webhooks list --sort failures` }}
    >
      <Rows
        caption="Webhooks by failures"
        columns={topColumns(courses)}
        rows={rows}
        none="No failed requests in the last 24 hours."
      />
    </Panel>
  );
}
