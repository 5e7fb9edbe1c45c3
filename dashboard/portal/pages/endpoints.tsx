import { useApi } from "../../shared/queries.ts";
import type { Page, Webhook } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { stateOf } from "../endpoint/state.ts";
import { ErrorText } from "../error-text.tsx";
import { t } from "../language.ts";
import { portalPath } from "../paths.ts";
import { may } from "../session.ts";
import { type Point, Sparkline } from "../sparkline.tsx";
import { noun } from "../words.ts";

interface Statistics {
  readonly series: readonly { readonly key: string | null; readonly points: readonly Point[] }[];
}

export function EndpointsPage() {
  const { data, error, isLoading } = useApi<Page<Webhook>>({ path: "v1/webhooks", query: { limit: 250 } });
  const stats = useApi<Statistics>(
    may("deliveries:read")
      ? {
          path: "v1/stats/deliveries",
          query: { group_by: "webhook", step: "1h", measures: "attempts,accepted" },
        }
      : null,
    { everyMs: 30_000 },
  );
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
      {error !== null && <ErrorText error={error} />}
      {isLoading && <p class="soft">{t("loading")}</p>}
      {data?.data.length === 0 && <p class="panel">{noun("empty")}</p>}
      <ul class="cards">
        {data?.data.map((webhook) => (
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
        {attempts > 0 && <Sparkline points={points} label={t("sparkline", { attempts, failed })} />}
      </div>
    </li>
  );
}
