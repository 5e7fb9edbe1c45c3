import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import { callApi, type Query } from "../../shared/api.ts";
import { Chart } from "../../shared/charts/chart.tsx";
import { publishedChart, publishedSentence, type Statistics } from "../../shared/charts/statistics.ts";
import { firstItemText, memberText } from "../../shared/json-tokens.ts";
import { useApi } from "../../shared/queries.ts";
import { fieldText, type Row, type Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { type Column, Facts } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import { When } from "../../shared/ui/when.tsx";
import { PublishExample } from "../event/publish-copy.tsx";
import { ActionButton, LinkButton, mayManage } from "../form/action-button.tsx";
import { bodyTextOf, changeCommand } from "../form/form-fields.ts";
import { EditPage } from "../form/resource-form.tsx";
import { column } from "../lists/columns.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { Trail } from "../shell/detail-page.tsx";
import { useStatisticsRange, usualRange, zoneQuery } from "../statistics/traffic-panels.tsx";
import { WebhookBadge, WebhookLink } from "../webhook/webhook-link.tsx";
import { eventTypeFields, eventTypeOptions, typedEventType } from "./event-type-fields.ts";

const eventTypeColumns: readonly Column<Row>[] = [
  column.text("Name", (row) => (
    <a
      href={`${pagePath(`event-types/${encodeURIComponent(fieldText(row, "name"))}`)}?tenant_id=${encodeURIComponent(fieldText(row, "tenant_id"))}`}
      class="row-link"
    >
      {fieldText(row, "name")}
    </a>
  )),
  column.prose("Description", (row) => fieldText(row, "description"), "medium"),
  column.text("Schema", (row) => (row["schema"] === null ? "none" : "yes")),
  column.text("Tenant", (row) => fieldText(row, "tenant_id"), "medium"),
  column.text("Deprecated", (row) => (row["deprecated"] === true ? "yes" : "no"), "medium"),
  column.time("Changed", (row) => fieldText(row, "updated_at")),
];

export function EventTypesPage() {
  return (
    <>
      <h1>Event types</h1>
      <ResourceList<Row>
        title="Event types"
        path="v1/event-types"
        cli={shell`event-types list`}
        columns={eventTypeColumns}
        keyOf={(row) => `${fieldText(row, "tenant_id")} ${fieldText(row, "name")}`}
        none="No event types are registered, so events of any type are accepted. Registered types can have a schema."
      />
    </>
  );
}

/** Raw text of the first example. */
function exampleOf(text: string): string {
  return firstItemText(memberText(text, { member: "examples" }) ?? "") ?? "{}";
}

export function EventTypePage() {
  const place = useEventTypePlace();
  const { name, path, query, flags } = place;
  const loaded = useApi<Row>({ path, query }, { everyMs: false });
  const { data, text } = loaded;
  const twin = { path, query, cli: shell`event-types get ${name}${flags}` };
  return (
    <>
      <Trail href={pagePath("event-types")}>Event types</Trail>
      <PageHead title={name}>
        <RangePicker fallback={usualRange} />
      </PageHead>
      <Panel
        title="About this event type"
        loaded={loaded}
        tools={
          <>
            <PublishExample name={name} example={exampleOf(text)} tenantIds={query.tenant_id} />
            <a href={`${pagePath("deliveries")}?event_type=${encodeURIComponent(name)}`}>Deliveries</a>
          </>
        }
        twin={twin}
      >
        {data !== null && (
          <>
            <Facts
              rows={[
                ["Description", fieldText(data, "description") || "–"],
                ["Tenant", fieldText(data, "tenant_id")],
                ["Deprecated", data["deprecated"] === true ? "yes" : "no"],
                ["Changed", <When at={fieldText(data, "updated_at")} isExact />],
              ]}
            />
            <EventTypeActions place={place} isDeprecated={data["deprecated"] === true} />
          </>
        )}
      </Panel>
      <EventTypeVolume name={name} query={query} />
      <Subscribers name={name} query={query} />
      {data !== null && data["schema"] !== null && (
        <Panel title="Schema" twin={twin}>
          <TextView text={memberText(text, { member: "schema" }) ?? ""} label="JSON Schema" />
        </Panel>
      )}
      {data !== null && Array.isArray(data["examples"]) && data["examples"].length > 0 && (
        <Panel title="Examples" twin={twin}>
          <TextView text={memberText(text, { member: "examples" }) ?? ""} label="Examples" />
        </Panel>
      )}
    </>
  );
}

/** Edit and deprecate buttons. They are hidden if the API key may not change event types. */
function EventTypeActions(props: { readonly place: EventTypePlace; readonly isDeprecated: boolean }) {
  const { place, isDeprecated } = props;
  const { name, path, query, flags, editPage } = place;
  if (!mayManage()) return null;
  const label = isDeprecated ? "Undo deprecation" : "Deprecate";
  const twin = {
    method: "PUT",
    path,
    query,
    body: { deprecated: !isDeprecated },
    cli: shell`event-types put ${name}${flags} ${isDeprecated ? "--no-deprecated" : "--deprecated"}`,
  } as const;
  return (
    <div class="actions">
      <LinkButton href={editPage} label="Edit" />
      <ActionButton
        label={label}
        run={() => callApi(twin)}
        done={isDeprecated ? "Deprecation undone" : "Deprecated"}
      />
      <AsApi what={label} twin={twin} />
    </div>
  );
}

interface TypeProps {
  readonly name: string;
  /** Query that selects the tenant. */
  readonly query: Query;
}

/** Events of this type over time. Only the 20 most frequent types have data, because the API returns no others. */
function EventTypeVolume({ name, query: whose }: TypeProps) {
  const range = useStatisticsRange();
  const query = { ...range.query, ...whose, group_by: "event_type" };
  const loaded = useApi<Statistics>({ path: "v1/stats/events", query: { ...query, ...zoneQuery() } });
  const { data } = loaded;
  const own = data?.series.find(({ key }) => key === name);
  return (
    <Panel
      title="Published"
      loaded={loaded}
      twin={{ path: "v1/stats/events", query, cli: shell`stats events --group-by event_type${range.flags}` }}
    >
      {data !== null && own === undefined && (
        <p class="soft">
          {data.series.length < 20
            ? "No events of this type in this time range."
            : "This type is not among the 20 most frequent types in this time range."}
        </p>
      )}
      {data !== null && own !== undefined && (
        <Chart
          kind="bars"
          title="Events"
          chart={publishedChart({ ...data, series: [own] })}
          summary={publishedSentence({ ...data, series: [own] })}
          narrow={range.narrow}
        />
      )}
    </Panel>
  );
}

const subscriberColumns: readonly Column<Webhook>[] = [
  column.text("URL", (row) => <WebhookLink id={row.id} url={row.url} />),
  column.text("Health", (row) => <WebhookBadge webhook={row} />),
  column.text("Event types", (row) => row.events.join(", ")),
];

/** Webhooks that subscribe to this event type. */
function Subscribers({ name, query: whose }: TypeProps) {
  return (
    <ResourceList<Webhook>
      title="Subscribed webhooks"
      path="v1/webhooks"
      query={{ ...whose, event_type: name, limit: 50 }}
      cli={shell`webhooks list --event-type ${name}`}
      columns={subscriberColumns}
      none="No webhook subscribes to this event type."
      isExcerpt
    />
  );
}

export function EditEventTypePage() {
  const { name, path, query, flags, page } = useEventTypePlace();
  return (
    <EditPage<Row>
      title="Edit event type"
      path={path}
      query={query}
      page={page}
      nameOf={() => name}
      fields={eventTypeFields}
      typedOf={typedEventType}
      callOf={(body, typed) => ({
        method: "PUT",
        path,
        query,
        bodyText: bodyTextOf(eventTypeFields, body, typed),
        cli: changeCommand(shell`event-types put ${name}${flags}`, body, eventTypeOptions),
      })}
      hasTwin
    />
  );
}

/** The event type in the URL. Several tenants may have an event type with the same name. */
interface EventTypePlace {
  readonly name: string;
  /** API path. */
  readonly path: string;
  readonly query: { readonly tenant_id: readonly string[] };
  /** CLI options that select the tenant. */
  readonly flags: ShellText;
  /** Dashboard paths. */
  readonly page: string;
  readonly editPage: string;
}

function useEventTypePlace(): EventTypePlace {
  const { params } = useRoute();
  const address = useAddress();
  const name = params["name"] ?? "";
  const encoded = encodeURIComponent(name);
  const tenantIds = address.params.getAll("tenant_id");
  const [tenantId] = tenantIds;
  const search = tenantId === undefined ? "" : `?tenant_id=${encodeURIComponent(tenantId)}`;
  return {
    name,
    path: `v1/event-types/${encoded}`,
    query: { tenant_id: tenantIds },
    flags: shellOptions(tenantId === undefined ? [] : [["tenant", tenantId]]),
    page: `${pagePath(`event-types/${encoded}`)}${search}`,
    editPage: `${pagePath(`event-types/${encoded}/edit`)}${search}`,
  };
}
