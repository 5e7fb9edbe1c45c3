import { Sparkline } from "../../shared/charts/bars.tsx";
import { useApi } from "../../shared/queries.ts";
import type { Page, Webhook } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { counted } from "../shell/language.ts";
import { ListState } from "../shell/parts.tsx";
import { portalPath } from "../shell/paths.ts";
import { may, noun } from "../shell/session.ts";
import { stateOf } from "./endpoint-state.ts";

interface Point {
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
  const pointsOf = (id: string) => stats.data?.series.find(({ key }) => key === id)?.points.slice(-24) ?? [];
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
  const attempts = points.map((point) => point.attempts ?? 0);
  const accepted = points.map((point) => point.accepted ?? 0);
  const count = sum(attempts);
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
        {count > 0 && (
          <Sparkline
            values={attempts}
            tone="bad"
            over={{ values: accepted, tone: "good" }}
            label={counted("sparkline", count, { failed: count - sum(accepted) })}
          />
        )}
      </div>
    </li>
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
