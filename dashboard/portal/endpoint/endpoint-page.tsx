import { lazy, useLocation, useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import type { DeliveryPage, Webhook, WebhookBacklog, WebhookHealth } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { DeliveryList } from "../activity/delivery-list.tsx";
import { t } from "../shell/language.ts";
import { ErrorText } from "../shell/parts.tsx";
import { portalPath } from "../shell/paths.ts";
import { may, maySetChannels, noun } from "../shell/session.ts";
import { EndpointActions } from "./endpoint-actions.tsx";
import { EndpointSettings } from "./endpoint-form.tsx";
import { isFailing, reasonOf, stateOf, whatIsWrong } from "./endpoint-state.ts";
import { SecurityPanel } from "./secrets.tsx";

/** Loaded on demand, like the page of all channels. */
const EndpointChannels = lazy(() =>
  import("../notifications/notifications-page.tsx").then((page) => page.EndpointChannels),
);

export function EndpointPage() {
  const { params } = useRoute();
  const path = `v1/webhooks/${params["id"] ?? ""}`;
  const { data: webhook, error } = useApi<Webhook>({ path });
  if (webhook === null) {
    return (
      <>
        <h1>{noun("title.one")}</h1>
        {error === null ? <p class="soft">{t("loading")}</p> : <ErrorText error={error} />}
      </>
    );
  }
  const { tone, text } = stateOf(webhook);
  return (
    <>
      <p>
        <a href={portalPath("")}>{noun("title.many")}</a>
      </p>
      <div class="portal-title">
        <h1 class="card-url">{webhook.url}</h1>
        <Badge tone={tone} text={text} />
      </div>
      {webhook.description !== "" && <p>{webhook.description}</p>}
      <WhatIsWrong webhook={webhook} />
      <EndpointActions webhook={webhook} />
      <Tabs webhook={webhook} />
    </>
  );
}

function WhatIsWrong({ webhook }: { readonly webhook: Webhook }) {
  const failing = isFailing(webhook);
  const path = `v1/webhooks/${webhook.id}`;
  const health = useApi<WebhookHealth>(failing ? { path: `${path}/health` } : null);
  const backlog = useApi<WebhookBacklog>(failing ? { path: `${path}/backlog` } : null);
  const newest = useApi<DeliveryPage>(
    failing && may("deliveries:read")
      ? { path: `${path}/deliveries`, query: { limit: 10, include: "last_attempt" } }
      : null,
  );
  const failed = newest.data?.data.find(({ failure_category: category }) => category !== null);
  const sentences = whatIsWrong(webhook, {
    health: health.data,
    reason: reasonOf(failed?.last_http_status_code, failed?.failure_category),
    waiting: backlog.data?.total ?? 0,
    nextAt: newest.data?.data.find(({ next_attempt_at: at }) => at !== null)?.next_attempt_at ?? null,
  });
  if (sentences === null) return null;
  return (
    <section class="note note-bad" aria-label={t("wrong.title")}>
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </section>
  );
}

function Tabs({ webhook }: { readonly webhook: Webhook }) {
  const { query } = useLocation();
  const shown = [
    { name: "activity", title: t("activity.title"), isShown: may("deliveries:read") },
    { name: "settings", title: t("settings.title"), isShown: true },
    { name: "security", title: t("security.title"), isShown: true },
    { name: "notifications", title: t("told.title"), isShown: maySetChannels() },
  ].filter(({ isShown }) => isShown);
  const tab = shown.find(({ name }) => name === query["tab"])?.name ?? shown[0]?.name;
  return (
    <>
      <nav aria-label={t("tabs.label")}>
        <ul class="portal-nav tabs">
          {shown.map(({ name, title }) => (
            <li key={name}>
              <a
                href={portalPath(`endpoints/${webhook.id}`, { tab: name })}
                aria-current={name === tab ? "true" : undefined}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section class="panel">
        {tab === "activity" && <DeliveryList webhookId={webhook.id} caption={t("activity.title")} />}
        {tab === "settings" && <EndpointSettings key={webhook.id} webhook={webhook} />}
        {tab === "security" && <SecurityPanel webhook={webhook} />}
        {tab === "notifications" && <EndpointChannels key={webhook.id} webhookId={webhook.id} />}
      </section>
    </>
  );
}
