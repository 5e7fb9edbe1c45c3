import { useSignal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import { callApi } from "../../shared/api.ts";
import {
  type ChannelSet,
  channelsPathOf,
  channelState,
  channelTones,
  keptInput,
  removeChannel,
  replaceChannel,
} from "../../shared/channels.ts";
import type { Statistics } from "../../shared/charts/statistics.ts";
import { useApi } from "../../shared/queries.ts";
import { type Channel, fieldText, type Page, type Row, type Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, ConfirmButton, LinkButton, mayAdminister, mayManage } from "../form/action-button.tsx";
import { EditPage } from "../form/resource-form.tsx";
import { column } from "../lists/columns.tsx";
import { ResourceList, Rows } from "../lists/list-page.tsx";
import { OpenPortal } from "../portal/portal-page.tsx";
import { DetailPage, useRouteId } from "../shell/detail-page.tsx";
import { TrafficPanel, useStatisticsRange, usualRange, zoneQuery } from "../statistics/traffic-panels.tsx";
import { WebhookBadge, WebhookLink } from "../webhook/webhook-link.tsx";
import { tenantCommand, tenantFields } from "./tenant-fields.ts";

const tenantColumns: readonly Column<Row>[] = [
  column.text("Tenant", (row) => (
    <a href={pagePath(`tenants/${encodeURIComponent(fieldText(row, "id"))}`)} class="row-link">
      {fieldText(row, "id")}
    </a>
  )),
  column.text("Name", (row) => fieldText(row, "name")),
  column.text("Rate limit", (row) => rateText(row["rate_limit"]), "medium"),
  column.figure("Maximum webhooks", (row) => fieldText(row, "webhooks_max") || "–", "medium"),
  column.text("Pool", (row) => fieldText(row, "worker_pool"), "medium"),
  column.text("Portal", (row) => <OpenPortal tenantId={fieldText(row, "id")} />, "medium"),
  column.time("Created", (row) => fieldText(row, "created_at")),
];

function rateText(limit: unknown): string {
  if (typeof limit !== "object" || limit === null) return "none";
  return `${fieldText(limit as Row, "requests_per_minute")} per minute`;
}

export function TenantsPage() {
  return (
    <>
      <h1>Tenants</h1>
      <ResourceList<Row>
        title="Tenants"
        path="v1/tenants"
        cli={shell`tenants list`}
        columns={tenantColumns}
        none="No tenants."
      />
    </>
  );
}

export function TenantPage() {
  const id = useRouteId();
  const path = `v1/tenants/${encodeURIComponent(id)}`;
  const loaded = useApi<Row>({ path });
  const { data, error } = loaded;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <DetailPage id={id} list="tenants" title="Tenants">
      <PageHead title={fieldText(data, "name") || id}>
        <RangePicker fallback={usualRange} />
      </PageHead>
      <Panel
        title="Limits"
        loaded={loaded}
        tools={
          <>
            <a href={`${pagePath("deliveries")}?tenant_id=${encodeURIComponent(id)}`}>Deliveries</a>
            <a href={`${pagePath("portal")}?tenant=${encodeURIComponent(id)}`}>Portal</a>
          </>
        }
        twin={{ path, cli: shell`tenants get ${id}` }}
      >
        <Facts
          rows={[
            ["Id", <code>{id}</code>],
            ...Object.entries(data)
              .filter(([name, value]) => !shownElsewhere.has(name) && value !== null)
              .map(([name]) => [name.replaceAll("_", " "), fieldText(data, name)] as const),
            ["Created", <When at={fieldText(data, "created_at")} isExact />],
          ]}
        />
        {mayAdminister() && (
          <div class="actions">
            <LinkButton href={pagePath(`tenants/${encodeURIComponent(id)}/edit`)} label="Edit" />
          </div>
        )}
      </Panel>
      <VolumeCharts query={{ tenant_id: id }} flags={shellOptions([["tenant", id]])} />
      <TenantWebhooks tenantId={id} />
      <TenantChannels tenantId={id} />
      <TenantKeys tenantId={id} />
    </DetailPage>
  );
}

const shownElsewhere = new Set(["id", "name", "created_at", "updated_at"]);

const webhookColumns: readonly Column<Webhook>[] = [
  column.text("URL", (row) => <WebhookLink id={row.id} url={row.url} />),
  column.text("Health", (row) => <WebhookBadge webhook={row} />),
  column.text("Events", (row) => row.events.join(", "), "medium"),
  column.time("Last accepted", (row) => row.last_success_at),
];

function TenantWebhooks({ tenantId }: { readonly tenantId: string }) {
  return (
    <ResourceList<Webhook>
      title="Webhooks"
      caption="Webhooks of this tenant"
      path="v1/webhooks"
      query={{ tenant_id: tenantId, limit: 50 }}
      cli={shell`webhooks list --tenant ${tenantId}`}
      columns={webhookColumns}
      none="This tenant has no webhooks."
      isExcerpt
    />
  );
}

const keyColumns: readonly Column<Row>[] = [
  column.text("Name", (row) => fieldText(row, "name")),
  column.text("Role", (row) => fieldText(row, "role")),
  column.time("Created", (row) => fieldText(row, "created_at")),
];

function TenantKeys({ tenantId }: { readonly tenantId: string }) {
  // Loads the keys of all tenants, because the API cannot filter them by tenant and their number is small.
  const query = { limit: 250 };
  const loaded = useApi<Page<Row>>({ path: "v1/api-keys", query });
  const rows = (loaded.data?.data ?? []).filter((row) => row["tenant_id"] === tenantId);
  return (
    <Panel title="API keys" loaded={loaded} twin={{ path: "v1/api-keys", query, cli: null }}>
      <Rows
        caption="API keys of this tenant"
        columns={keyColumns}
        rows={rows}
        hasNoLinks
        none="This tenant has no API keys."
      />
    </Panel>
  );
}

interface VolumeProps {
  /** Filters that apply in addition to the range. */
  readonly query: Readonly<Record<string, string>>;
  /** Equivalent CLI options. */
  readonly flags: ShellText;
}

/** Charts of published events and of request outcomes. */
function VolumeCharts({ query, flags }: VolumeProps) {
  const range = useStatisticsRange();
  const asked = { ...range.query, ...query, ...zoneQuery() };
  const events = useApi<Statistics>({ path: "v1/stats/events", query: asked });
  const deliveries = useApi<Statistics>({
    path: "v1/stats/deliveries",
    query: { ...asked, measures: "attempts,accepted,transient,terminal" },
  });
  return (
    <div class="columns-2">
      <TrafficPanel of="events" {...{ range, query, flags }} loaded={events} />
      <TrafficPanel of="deliveries" {...{ range, query, flags }} loaded={deliveries} />
    </div>
  );
}

export function EditTenantPage() {
  const id = useRouteId();
  const path = `v1/tenants/${encodeURIComponent(id)}`;
  return (
    <EditPage<Row>
      title="Edit tenant"
      path={path}
      page={pagePath(`tenants/${encodeURIComponent(id)}`)}
      nameOf={(tenant) => fieldText(tenant, "name") || id}
      fields={tenantFields}
      callOf={(body) => ({ method: "PUT", path, body, cli: tenantCommand(id, body) })}
      hasTwin
    />
  );
}

/** Poll interval after a test, because the live stream does not cover notifications. */
const testPollMs = 3_000;

/** Notification channels of a tenant. Customers manage the same channels in the portal. */
function TenantChannels({ tenantId }: { readonly tenantId: string }) {
  const path = channelsPathOf(tenantId);
  const isTried = useSignal(false);
  const loaded = useApi<ChannelSet>({ path }, isTried.value ? { everyMs: testPollMs } : {});
  const channels = loaded.data?.data ?? [];
  return (
    <Panel
      title="Notifications"
      loaded={loaded}
      twin={{ path, cli: shell`notifications channels --tenant ${tenantId}` }}
    >
      {channels.length === 0 ? (
        <p class="soft">No channels. This tenant is not notified when its webhooks fail.</p>
      ) : (
        <ul class="entry-list" aria-label="Channels of this tenant">
          {channels.map((channel) => (
            <ChannelEntry key={channel.id} channel={channel}>
              {mayManage() && (
                <ChannelActions channel={channel} path={path} tried={() => (isTried.value = true)} />
              )}
            </ChannelEntry>
          ))}
        </ul>
      )}
    </Panel>
  );
}

const channelKinds: Readonly<Record<string, string>> = {
  email: "Email",
  slack: "Slack",
  teams: "Teams",
  discord: "Discord",
  pagerduty: "PagerDuty",
  webhook: "URL",
};

const channelStates: Readonly<Record<ReturnType<typeof channelState>, string>> = {
  off: "disabled",
  refused: "address rejected",
  unsubscribed: "unsubscribed",
  unconfirmed: "not confirmed",
  limited: "limited",
  failing: "failing",
  new: "no messages yet",
  ok: "healthy",
};

/** One channel. If it is not an email channel, the API returns only the host of its URL. */
function ChannelEntry(props: { readonly channel: Channel; readonly children: ComponentChildren }) {
  const { channel } = props;
  const { kind, name, address, topics } = channel;
  const state = channelState(channel);
  const isBad = channelTones[state] === "bad";
  return (
    <li>
      <div class="entry-head">
        <Badge tone={channelTones[state]} text={channelStates[state]} />
        {address}
      </div>
      <div>
        <p>
          {channelKinds[kind] ?? kind}
          {name !== "" && `, ${name}`}; topics:{" "}
          {topics.map((topic) => topic.replaceAll("_", " ")).join(", ") || "nothing"};{" "}
          <WebhooksOfChannel webhookIds={channel.webhook_ids} />
        </p>
        {state === "unconfirmed" && (
          <p>The recipient must open the link in the confirmation email. Nothing else is sent until then.</p>
        )}
        {state === "unsubscribed" && (
          <p>Only the recipient can resubscribe, with the link in an earlier email.</p>
        )}
        {state === "limited" && channel.limited_until !== null && (
          <p>
            Hourly limit reached. The remaining messages follow as one digest{" "}
            <When at={channel.limited_until} />.
          </p>
        )}
        {isBad && channel.last_error !== null && <p class="bad-text">{channel.last_error}</p>}
        {channel.last_sent_at !== null && (
          <p class="soft">
            last sent <When at={channel.last_sent_at} />
          </p>
        )}
      </div>
      {props.children}
    </li>
  );
}

/** Limits the number of webhooks shown by name, because each name requires a call. */
const namedMax = 3;

function WebhooksOfChannel({ webhookIds }: { readonly webhookIds: readonly string[] | null }) {
  if (webhookIds === null) return "all webhooks";
  const left = webhookIds.length - namedMax;
  return (
    <>
      webhooks:{" "}
      {webhookIds.slice(0, namedMax).map((id, index) => (
        <Fragment key={id}>
          {index > 0 && ", "}
          <WebhookLink id={id} url={null} />
        </Fragment>
      ))}
      {left > 0 && ` and ${left} more`}
    </>
  );
}

interface ActionsProps {
  readonly channel: Channel;
  /** API path of the tenant's channels. */
  readonly path: string;
  readonly tried: () => void;
}

function ChannelActions({ channel, path, tried }: ActionsProps) {
  const turn = () =>
    replaceChannel(path, {
      id: channel.id,
      input: { ...keptInput(channel), enabled: !channel.enabled },
    });
  return (
    <div class="actions">
      <ActionButton
        label="Send test"
        name={`to ${channel.address}`}
        run={async () => {
          await callApi({ method: "POST", path: `${path}/${channel.id}/test` });
          tried();
        }}
        done="Test queued. The state shows the result"
      />
      <ActionButton
        label={channel.enabled ? "Disable" : "Enable"}
        name={channel.address}
        run={turn}
        done={channel.enabled ? "Channel disabled" : "Channel enabled"}
      />
      <ConfirmButton
        label="Remove"
        name={channel.address}
        title="Remove this channel?"
        run={() => removeChannel(path, channel)}
        done="Removed"
      >
        {channel.address} receives no more messages. Its address or key is deleted. To add the channel again,
        you must reenter the address or key.
      </ConfirmButton>
    </div>
  );
}
