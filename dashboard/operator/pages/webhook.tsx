import { useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import type { DeliveryPage, Webhook, WebhookHealth } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { duration } from "../../shared/time/time-format.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { categoryText } from "../delivery/wording.ts";
import { Gates } from "../webhook/gates.tsx";
import { shortUrl } from "../webhook/webhook-link.tsx";
import { WebhookActions } from "../webhook/webhook-actions.tsx";
import { WebhookBadge } from "../webhook/webhook-badge.tsx";

export function WebhookPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const webhook = useApi<Webhook>({ path: `v1/webhooks/${id}` });
  const health = useApi<WebhookHealth>({ path: `v1/webhooks/${id}/health` });
  const { data, error } = webhook;
  if (data === null)
    return error === null ? <p class="waiting soft">Loading…</p> : <ErrorNote error={error} />;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("webhooks")}>Webhooks</a>
      </p>
      <h1>
        {shortUrl(data.url)} <WebhookBadge webhook={data} />
      </h1>
      {data.description !== "" && <p>{data.description}</p>}
      <Panel
        title="Gates"
        loaded={health}
        twin={{ path: `v1/webhooks/${id}/health`, cli: `webhooks health ${id}` }}
      >
        {health.data !== null && <Gates webhook={data} health={health.data} />}
        <WebhookActions webhook={data} health={health.data} />
      </Panel>
      {health.data !== null && <Day id={id} health={health.data} />}
      <Deliveries id={id} />
      <Settings webhook={data} />
    </div>
  );
}

function Day({ id, health }: { readonly id: string; readonly health: WebhookHealth }) {
  const { stats, error_distribution } = health;
  const errors = Object.entries(error_distribution).toSorted(([, left], [, right]) => right - left);
  return (
    <Panel
      title="The last 24 hours"
      twin={{ path: `v1/webhooks/${id}/health`, cli: `webhooks health ${id}` }}
    >
      <Facts
        rows={[
          ["Attempts", stats.total.toLocaleString()],
          ["Accepted", stats.total === 0 ? "–" : `${((100 * stats.accepted) / stats.total).toFixed(1)} %`],
          ["Median", stats.duration_ms_p50 === null ? "–" : duration(stats.duration_ms_p50)],
          ["95 of 100 below", stats.duration_ms_p95 === null ? "–" : duration(stats.duration_ms_p95)],
          ["Last attempt", <When key="last" at={stats.last_attempt_at} />],
          ...errors.map(
            ([category, count]) => [`Failed: ${categoryText(category)}`, count.toLocaleString()] as const,
          ),
        ]}
      />
    </Panel>
  );
}

function Deliveries({ id }: { readonly id: string }) {
  const query = { limit: 20 };
  const loaded = useApi<DeliveryPage>({ path: `v1/webhooks/${id}/deliveries`, query });
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="Deliveries"
      loaded={loaded}
      tools={<a href={`${pagePath("deliveries")}?webhook_id=${id}`}>All of them</a>}
      twin={{ path: `v1/webhooks/${id}/deliveries`, query, cli: `webhooks deliveries ${id}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">Nothing was delivered to it yet.</p>
      ) : (
        <DeliveryTable caption="Deliveries of this webhook, newest first" rows={rows} withoutWebhook />
      )}
    </Panel>
  );
}

function Settings({ webhook }: { readonly webhook: Webhook }) {
  const { id, retry_config: retry } = webhook;
  return (
    <Panel title="Settings" twin={{ path: `v1/webhooks/${id}`, cli: `webhooks get ${id}` }}>
      <Facts
        rows={[
          [
            "Webhook",
            <>
              <code>{id}</code> <CopyButton text={id} label="Copy the id" />
            </>,
          ],
          ["URL", <code key="url">{webhook.url}</code>],
          ["Events", webhook.events.join(", ")],
          ["Tenant", webhook.tenant_id],
          ["Profile", webhook.profile],
          ["Signatures", webhook.signing.schemes.join(", ")],
          ["Format", webhook.payload_format],
          ["Order", webhook.ordering_guarantee],
          ["Attempts at most", retry.max_attempts],
          ["Timeout", duration(webhook.timeout_ms)],
          ["Made", <When key="made" at={webhook.created_at} isExact />],
          ["Changed", <When key="changed" at={webhook.updated_at} isExact />],
        ]}
      />
    </Panel>
  );
}
