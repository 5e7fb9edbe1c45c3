import { useApi } from "../../shared/queries.ts";
import type { Page, Webhook } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { counted } from "../shell/language.ts";
import { ListState } from "../shell/parts.tsx";
import { portalPath } from "../shell/paths.ts";
import { may, noun } from "../shell/session.ts";
import { stateOf } from "./endpoint-state.ts";

interface Point {
  readonly at: string;
  readonly attempts?: number | null;
  readonly accepted?: number | null;
}

interface Statistics {
  readonly series: readonly { readonly key: string | null; readonly points: readonly Point[] }[];
}

const statistics = {
  path: "v1/stats/deliveries",
  query: { group_by: "webhook", step: "1h", measures: "attempts,accepted" },
} as const;

export function EndpointsPage() {
  const loaded = useApi<Page<Webhook>>({ path: "v1/webhooks", query: { limit: 250 } });
  const stats = useApi<Statistics>(may("deliveries:read") ? statistics : null, { everyMs: 30_000 });
  const pointsOf = (id: string) => stats.data?.series.find(({ key }) => key === id)?.points ?? [];
  return (
    <>
      <div class="portal-title">
        <h1>{noun("title.many")}</h1>
        {may("endpoints:write") && (
          <a class="button primary" href={portalPath("add")}>
            {noun("add")}
          </a>
        )}
      </div>
      <ListState loaded={loaded} empty={noun("empty")} />
      <ul class="cards">
        {loaded.data?.data.map((webhook) => (
          <Card key={webhook.id} webhook={webhook} points={pointsOf(webhook.id)} />
        ))}
      </ul>
    </>
  );
}

function Card({ webhook, points }: { readonly webhook: Webhook; readonly points: readonly Point[] }) {
  const { tone, text } = stateOf(webhook);
  const attempts = points.reduce((sum, point) => sum + (point.attempts ?? 0), 0);
  const failed = attempts - points.reduce((sum, point) => sum + (point.accepted ?? 0), 0);
  return (
    <li class="card">
      <div class="card-main">
        <a class="card-url" href={portalPath(`endpoints/${webhook.id}`)}>
          {webhook.url}
        </a>
        {webhook.description !== "" && <p class="soft">{webhook.description}</p>}
        <p class="soft">{webhook.events.join(", ")}</p>
      </div>
      <div class="card-side">
        <Badge tone={tone} text={text} />
        {attempts > 0 && <Sparkline points={points} label={counted("sparkline", attempts, { failed })} />}
      </div>
    </li>
  );
}

const height = 24;
const barWidth = 4;
const barsMax = 24;

/** Attempts per hour over the last day, with failed attempts on top. */
function Sparkline({ points, label }: { readonly points: readonly Point[]; readonly label: string }) {
  const shown = points.slice(-barsMax);
  const most = Math.max(1, ...shown.map(({ attempts }) => attempts ?? 0));
  const width = barsMax * (barWidth + 1);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={label}
    >
      {shown.map(({ at, attempts, accepted }, index) => {
        const all = ((attempts ?? 0) / most) * height;
        const good = ((accepted ?? 0) / most) * height;
        const x = (barsMax - shown.length + index) * (barWidth + 1);
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
