import { useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import type { DeliveryDetail, Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { EventContent } from "../event/event-content.tsx";
import { shortUrl, WebhookLink } from "../webhook/webhook-link.tsx";
import { Attempts } from "./attempts.tsx";
import { Verdict } from "./verdict.tsx";

export function DeliveryPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const loaded = useApi<DeliveryDetail>({ path: `v1/deliveries/${id}` });
  const { data, error } = loaded;
  const webhook = useApi<Webhook>(data === null ? null : { path: `v1/webhooks/${data.webhook_id}` });
  if (data === null) return <NotLoaded error={error} />;
  const url = webhook.data?.url ?? null;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("deliveries")}>Deliveries</a>
      </p>
      <h1>
        {data.event_type} <span class="soft">to</span> {shortUrl(url) || "a deleted webhook"}
      </h1>
      <Verdict delivery={data} />
      <Panel
        title="Attempts"
        loaded={loaded}
        twin={{ path: `v1/deliveries/${id}`, cli: shell`deliveries get ${id}` }}
      >
        <Attempts delivery={data} />
      </Panel>
      <EventContent id={data.event_id} />
      <Panel
        title="About this delivery"
        twin={{ path: `v1/deliveries/${id}`, cli: shell`deliveries get ${id}` }}
      >
        <Facts
          rows={[
            ["Delivery", <Id key="id" id={id} />],
            [
              "Event",
              <a key="event" href={pagePath(`events/${data.event_id}`)}>
                {data.event_id}
              </a>,
            ],
            ["Webhook", <WebhookLink key="webhook" id={data.webhook_id} url={null} />],
            ["Tenant", data.tenant_id],
            ["Priority", data.priority],
            ["Origin", data.origin],
            ["Created", <When key="made" at={data.created_at} isExact />],
            ["Ended", <When key="ended" at={data.completed_at} isExact />],
          ]}
        />
      </Panel>
    </div>
  );
}

function Id({ id }: { readonly id: string }) {
  return (
    <>
      <code>{id}</code> <CopyButton text={id} label="Copy id" />
    </>
  );
}
