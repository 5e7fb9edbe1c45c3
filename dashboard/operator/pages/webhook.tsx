import { useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import type { DeliveryPage, Webhook, WebhookHealth } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { duration } from "../../shared/format.ts";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead, type Tab, Tabs, useTab } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { usualRange } from "../statistics-range.ts";
import { Backlog } from "../webhook/backlog.tsx";
import { Gates } from "../webhook/gates.tsx";
import { WebhookCharts } from "../webhook/webhook-charts.tsx";
import { Revisions } from "../webhook/revisions.tsx";
import { Security } from "../webhook/security.tsx";
import { shortUrl } from "../webhook/webhook-link.tsx";
import { WebhookActions } from "../webhook/webhook-actions.tsx";
import { WebhookTimeline } from "../webhook/webhook-timeline.tsx";
import { WebhookBadge } from "../webhook/webhook-badge.tsx";

const tabs: readonly Tab[] = [
  { name: "", title: "Overview" },
  { name: "deliveries", title: "Deliveries" },
  { name: "settings", title: "Settings" },
  { name: "security", title: "Security" },
  { name: "timeline", title: "Timeline" },
  { name: "revisions", title: "Revisions" },
];

export function WebhookPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const webhook = useApi<Webhook>({ path: `v1/webhooks/${id}` });
  const health = useApi<WebhookHealth>({ path: `v1/webhooks/${id}/health` });
  const tab = useTab(tabs);
  const { data, error } = webhook;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("webhooks")}>Webhooks</a>
      </p>
      <PageHead title={shortUrl(data.url)} beside={<WebhookBadge webhook={data} />}>
        {tab === "" && <RangePicker fallback={usualRange} />}
      </PageHead>
      {data.description !== "" && <p>{data.description}</p>}
      <Tabs label="Parts of this webhook" tabs={tabs} />
      {tab === "" && (
        <>
          <Panel
            title="Gates"
            loaded={health}
            twin={{ path: `v1/webhooks/${id}/health`, cli: shell`webhooks health ${id}` }}
          >
            {health.data !== null && <Gates webhook={data} health={health.data} />}
            <WebhookActions webhook={data} health={health.data} />
          </Panel>
          <Backlog id={id} />
          <WebhookCharts id={id} />
        </>
      )}
      {tab === "deliveries" && <Deliveries id={id} />}
      {tab === "settings" && <Settings webhook={data} />}
      {tab === "security" && <Security webhook={data} />}
      {tab === "timeline" && <WebhookTimeline id={id} />}
      {tab === "revisions" && <Revisions id={id} />}
    </div>
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
      tools={<a href={`${pagePath("deliveries")}?webhook_id=${id}`}>All deliveries</a>}
      twin={{ path: `v1/webhooks/${id}/deliveries`, query, cli: shell`webhooks deliveries ${id}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No deliveries yet.</p>
      ) : (
        <DeliveryTable caption="Deliveries of this webhook, newest first" rows={rows} withoutWebhook />
      )}
    </Panel>
  );
}

function Settings({ webhook }: { readonly webhook: Webhook }) {
  const { id, retry_config: retry } = webhook;
  return (
    <Panel title="Settings" twin={{ path: `v1/webhooks/${id}`, cli: shell`webhooks get ${id}` }}>
      <Facts
        rows={[
          [
            "Webhook",
            <>
              <code>{id}</code> <CopyButton text={id} label="Copy id" />
            </>,
          ],
          ["URL", <code key="url">{webhook.url}</code>],
          ["Events", webhook.events.join(", ")],
          ["Tenant", webhook.tenant_id],
          ["Profile", webhook.profile],
          ["Format", webhook.payload_format],
          ["Order", webhook.ordering_guarantee],
          ["Maximum attempts", retry.max_attempts],
          ["Timeout", duration(webhook.timeout_ms)],
          ["Created", <When key="made" at={webhook.created_at} isExact />],
          ["Changed", <When key="changed" at={webhook.updated_at} isExact />],
        ]}
      />
    </Panel>
  );
}
