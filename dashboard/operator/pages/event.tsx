import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { DeliveryPage } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { EventMatches } from "../event/event-matches.tsx";
import { PublishCopy } from "../event/publish-copy.tsx";
import { EventContent, type EventDetail } from "../event/event-content.tsx";

export function EventPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const event = useApi<EventDetail>({ path: `v1/events/${id}` }, { everyMs: false });
  if (event.data === null) {
    return <NotLoaded error={event.error} />;
  }
  const { event_type, idempotency_key, source, created_at, tenant_id, priority, content_type } = event.data;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("events")}>Events</a>
      </p>
      <h1>{event_type}</h1>
      <EventDeliveries id={id} copy={<PublishCopy event={event.data} text={event.text} />} />
      <EventMatches id={id} />
      <EventContent id={id} />
      <Panel title="About this event" twin={{ path: `v1/events/${id}`, cli: shell`events get ${id}` }}>
        <Facts
          rows={[
            [
              "Event",
              <>
                <code>{id}</code> <CopyButton text={id} label="Copy id" />
              </>,
            ],
            ["Idempotency key", <code key="key">{idempotency_key}</code>],
            ["Tenant", tenant_id],
            ["Source", source ?? "–"],
            ["Priority", priority],
            ["Content type", content_type],
            ["Accepted", <When key="accepted" at={created_at} isExact />],
          ]}
        />
      </Panel>
    </div>
  );
}

function EventDeliveries({ id, copy }: { readonly id: string; readonly copy: ComponentChildren }) {
  const query = { limit: 250, include: "webhook" };
  const loaded = useApi<DeliveryPage>({ path: `v1/events/${id}/deliveries`, query });
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="Deliveries"
      loaded={loaded}
      tools={
        <>
          {copy}
          {mayManage() && (
            <ActionButton
              label="Replay"
              run={() => callApi({ method: "POST", path: `v1/events/${id}/replay`, body: {} })}
              done="Replayed to all webhooks that currently subscribe"
            />
          )}
        </>
      }
      twin={{ path: `v1/events/${id}/deliveries`, query, cli: shell`events deliveries ${id}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No webhook subscribed to it when it was published.</p>
      ) : (
        <DeliveryTable caption="Deliveries of this event" rows={rows} />
      )}
    </Panel>
  );
}
