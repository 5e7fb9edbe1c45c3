import type { ComponentChildren } from "preact";
import { Chart } from "../../shared/charts/chart.tsx";
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
import { compactNumber } from "../../shared/charts/scale.ts";
import { Sparkline } from "../../shared/charts/bars.tsx";
import { useApi, type Loaded } from "../../shared/queries.ts";
import { shell } from "../../shared/shell-text.ts";
import { duration } from "../../shared/format.ts";
import { Panel } from "../../shared/ui/panel.tsx";
import { useStatisticsRange, zoneQuery, type StatisticsRange } from "../statistics-range.ts";
import { OutcomesPanel, PublishedPanel } from "../traffic-panels.tsx";
import { TopWebhooks } from "./top-webhooks.tsx";

const deliveryMeasures =
  "attempts,accepted,transient,terminal,duration_ms_p50,duration_ms_p95,lag_ms_p95,success,exhausted";

/** Traffic over the time range of the page. `children` is shown between the charts. */
export function Traffic({
  children,
  gauges,
}: {
  readonly children: ComponentChildren;
  readonly gauges: Loaded<Gauges>;
}) {
  const range = useStatisticsRange();
  const deliveries = useApi<Statistics>(
    {
      path: "v1/stats/deliveries",
      query: { ...range.query, ...zoneQuery(), measures: deliveryMeasures },
    },
    { news: "stats" },
  );
  const events = useApi<Statistics>(
    { path: "v1/stats/events", query: { ...range.query, ...zoneQuery() } },
    { news: "stats" },
  );
  return (
    <>
      <div class="tiles">
        {events.data !== null && <PublishedTile events={events.data} />}
        {deliveries.data !== null && <DeliveredTile deliveries={deliveries.data} gauges={gauges.data} />}
        {gauges.data !== null && <BacklogTile gauges={gauges.data} deliveries={deliveries.data} />}
        {deliveries.data !== null && <AcceptedTile deliveries={deliveries.data} />}
        {deliveries.data !== null && <DurationTile deliveries={deliveries.data} />}
      </div>
      <Charts {...{ deliveries, events, gauges, range }}>{children}</Charts>
    </>
  );
}

function Charts(props: {
  readonly deliveries: Loaded<Statistics>;
  readonly events: Loaded<Statistics>;
  readonly gauges: Loaded<Gauges>;
  readonly range: StatisticsRange;
  readonly children: ComponentChildren;
}) {
  const { deliveries, events, gauges, range, children } = props;
  const { narrow } = range;
  return (
    <>
      <OutcomesPanel loaded={deliveries} range={range} />
      {children}
      <TopWebhooks />
      <div class="columns-2">
        <PublishedPanel loaded={events} range={range} />
        {gauges.data !== null && (
          <Panel
            title="Backlog"
            loaded={gauges}
            twin={{ path: "v1/stats/gauges", query: range.query, cli: shell`stats gauges${range.flags}` }}
          >
            <Chart
              kind="lines"
              title="Waiting deliveries"
              chart={backlogChart(gauges.data)}
              summary={backlogSentence(gauges.data)}
              narrow={narrow}
            />
          </Panel>
        )}
      </div>
    </>
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
      {success.toLocaleString()} accepted, {exhausted.toLocaleString()} dead letters
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
      {lag === null ? "nothing was sent" : `95 % of first attempts within ${duration(lag)}`}
    </Tile>
  );
}

/** Value of the newest complete point, or of the current one if there is no other. */
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

function backlogSentence({ now }: Gauges): string {
  return `${now.waiting.toLocaleString()} waiting, ${now.dead_letters.toLocaleString()} dead letters.`;
}
