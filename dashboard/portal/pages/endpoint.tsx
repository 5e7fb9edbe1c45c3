import { useSignal } from "@preact/signals";
import { lazy, useLocation, useRoute } from "preact-iso";
import { callApi } from "../../shared/api.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { DeliveryPage, Webhook, WebhookHealth } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { Action } from "../action.tsx";
import { DeliveryList } from "../delivery-list.tsx";
import { DeleteButton } from "../endpoint/delete-button.tsx";
import { RecoverButton } from "../endpoint/recover-button.tsx";
import { SecurityPanel } from "../endpoint/security-panel.tsx";
import { SendTest } from "../endpoint/send-test.tsx";
import { EndpointSettings } from "../endpoint/settings-form.tsx";
import { isFailing, stateOf, whatIsWrong } from "../endpoint/state.ts";
import { ErrorText } from "../error-text.tsx";
import { t } from "../language.ts";
import { portalPath } from "../paths.ts";
import { may, maySetChannels } from "../session.ts";
import { noun } from "../words.ts";

/** Loaded on demand, like the page of all channels. */
const EndpointChannels = lazy(() =>
  import("../notifications/notifications-page.tsx").then((page) => page.EndpointChannels),
);

interface Backlog {
  readonly total: number;
}

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
  const backlog = useApi<Backlog>(failing ? { path: `${path}/backlog` } : null);
  const newest = useApi<DeliveryPage>(
    failing && may("deliveries:read")
      ? { path: `${path}/deliveries`, query: { limit: 10, include: "last_attempt" } }
      : null,
  );
  const failed = newest.data?.data.find(({ failure_category: category }) => category !== null);
  const sentences = whatIsWrong(webhook, {
    health: health.data,
    last:
      failed === undefined
        ? null
        : { status: failed.last_http_status_code, category: failed.failure_category },
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

function EndpointActions({ webhook }: { readonly webhook: Webhook }) {
  const change =
    (action: string, { said }: { readonly said: string }) =>
    async () => {
      await callApi({ method: "POST", path: `v1/webhooks/${webhook.id}/${action}`, body: {} });
      await refreshAll();
      return said;
    };
  const isActive = webhook.status === "active";
  const isTesting = useSignal(false);
  return (
    <>
      <div class="actions">
        {may("test:send") && (
          <button
            type="button"
            aria-expanded={isTesting.value}
            onClick={() => (isTesting.value = !isTesting.value)}
          >
            {t("test.title")}
          </button>
        )}
        {may("endpoints:recover") && isActive && <RecoverButton webhook={webhook} />}
        {may("endpoints:write") && isActive && webhook.pause === null && (
          <Action run={change("pause", { said: t("state.paused") })}>{t("action.pause")}</Action>
        )}
        {may("endpoints:write") && webhook.pause !== null && (
          <Action run={change("resume", { said: t("action.resumed") })}>{t("action.resume")}</Action>
        )}
        {may("endpoints:write") && webhook.status === "unverified" && (
          <Action run={change("verify", { said: t("action.verified") })}>{t("action.verify")}</Action>
        )}
        {may("endpoints:write") && !isActive && webhook.status !== "unverified" && (
          <Action run={change("enable", { said: t("state.ok") })} isPrimary>
            {noun("enable")}
          </Action>
        )}
        {may("endpoints:write") && isActive && (
          <Action run={change("disable", { said: t("state.off") })}>{noun("disable")}</Action>
        )}
        {may("endpoints:delete") && <DeleteButton webhook={webhook} />}
      </div>
      {isTesting.value && (
        <section class="panel">
          <p>{t("test.text")}</p>
          <SendTest webhook={webhook} />
        </section>
      )}
    </>
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
