import type { ComponentChildren } from "preact";
import { useAddress } from "../../shared/address.ts";
import { callApi, type Query } from "../../shared/api.ts";
import { minute } from "../../shared/clock.ts";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, EventDetail, EventMatch, EventSummary } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { When } from "../../shared/ui/when.tsx";
import { listedColumns, StatusBadge } from "../delivery/delivery-table.tsx";
import { ActionButton, mayManage } from "../form/action-button.tsx";
import { column } from "../lists/columns.tsx";
import { flagsOf } from "../lists/command-flags.ts";
import { FlagChip, LinkedFilters, TextFilter } from "../lists/filters.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { DetailPage, IdText, useRouteId } from "../shell/detail-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { EventContent } from "./event-content.tsx";
import { PublishCopy } from "./publish-copy.tsx";

const eventColumns: readonly Column<EventSummary>[] = [
  column.link("Event type", "events", (row) => row.event_type),
  column.figure("Deliveries", (row) => row.deliveries),
  column.text(
    "Idempotency key",
    (row) =>
      row.idempotency_key === row.id ? <span class="soft">–</span> : <code>{row.idempotency_key}</code>,
    "medium",
  ),
  column.text("Tenant", (row) => row.tenant_id, "medium"),
  column.text("Priority", (row) => row.priority, "medium"),
  column.time("Accepted", (row) => row.created_at),
];

const passedOn = [
  "event_type",
  "source",
  "idempotency_key",
  "unmatched",
  "data_contains",
  "tenant_id",
] as const;

export function EventsPage() {
  const { params } = useAddress();
  const query: Query = {
    ...Object.fromEntries(passedOn.map((name) => [name, params.getAll(name)])),
    ...rangeQuery(params, minute.value),
  };
  return (
    <>
      <PageHead title="Events">
        <RangePicker />
      </PageHead>
      <div class="fields filters">
        <FlagChip name="unmatched" label="no subscribers" />
        <TextFilter name="event_type" label="Event type" placeholder="order.*" />
        <TextFilter name="source" label="Source" placeholder="shop" isOneText />
        <TextFilter name="idempotency_key" label="Idempotency key" placeholder="order-4711" isOneText />
        {mayManage() && (
          <TextFilter name="data_contains" label="Payload contains" placeholder="4711" isOneText />
        )}
        <LinkedFilters names={["tenant_id"]} />
      </div>
      <ResourceList<EventSummary>
        title="Events"
        path="v1/events"
        query={query}
        cli={shell`events list${flagsOf(query)}`}
        columns={eventColumns}
        none="No matching events."
      />
    </>
  );
}

export function EventPage() {
  const id = useRouteId();
  const event = useApi<EventDetail>({ path: `v1/events/${id}` }, { everyMs: false });
  if (event.data === null) return <NotLoaded error={event.error} />;
  const { event_type, idempotency_key, source, created_at, tenant_id, priority, content_type } = event.data;
  return (
    <DetailPage id={id} list="events" title="Events">
      <h1>{event_type}</h1>
      <EventDeliveries id={id} copy={<PublishCopy event={event.data} text={event.text} />} />
      <EventMatches id={id} />
      <EventContent id={id} />
      <Panel title="About this event" twin={{ path: `v1/events/${id}`, cli: shell`events get ${id}` }}>
        <Facts
          rows={[
            ["Event", <IdText id={id} />],
            ["Idempotency key", <code>{idempotency_key}</code>],
            ["Tenant", tenant_id],
            ["Source", source ?? "–"],
            ["Priority", priority],
            ["Content type", content_type],
            ["Accepted", <When at={created_at} isExact />],
          ]}
        />
      </Panel>
    </DetailPage>
  );
}

function EventDeliveries({ id, copy }: { readonly id: string; readonly copy: ComponentChildren }) {
  return (
    <ResourceList<Delivery>
      title="Deliveries"
      caption="Deliveries of this event"
      path={`v1/events/${id}/deliveries`}
      query={{ limit: 250, include: "webhook" }}
      cli={shell`events deliveries ${id}`}
      columns={listedColumns}
      none="No webhook subscribed to this type when the event was published."
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
      isExcerpt
    />
  );
}

const unmatchedReasons: Readonly<Record<NonNullable<EventMatch["reason"]>, string>> = {
  other_type: "Not subscribed to this event type.",
  inactive: "Not active when the event was published. Recover the webhook to send the event.",
  made_later: "Created after the event. A replay sends the event to it.",
  changed_later: "Subscribed to this type after the event was published. A replay sends the event to it.",
};

const matchColumns: readonly Column<EventMatch>[] = [
  column.text("Webhook", (row) => <WebhookLink id={row.webhook_id} url={null} />),
  column.text("Sent", ({ sent }) => <Badge tone={sent ? "good" : "off"} text={sent ? "sent" : "not sent"} />),
  column.text("Delivery", ({ delivery_id, delivery_status }) =>
    delivery_id === null || delivery_status === null ? (
      <span class="soft">–</span>
    ) : (
      <a href={pagePath(`deliveries/${delivery_id}`)}>
        <StatusBadge status={delivery_status} />
      </a>
    ),
  ),
  column.prose("Reason", ({ reason }) => (reason === null ? "" : unmatchedReasons[reason])),
];

/** All webhooks of the tenant. Each shows whether the event was sent to it and, if not, why. */
function EventMatches({ id }: { readonly id: string }) {
  return (
    <ResourceList<EventMatch>
      title="Webhook matches"
      path={`v1/events/${id}/matches`}
      query={{ limit: 20 }}
      cli={shell`events matches ${id}`}
      columns={matchColumns}
      keyOf={({ webhook_id }) => webhook_id}
      none="The tenant has no webhooks."
    />
  );
}
