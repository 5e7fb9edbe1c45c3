import { type Signal, useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { refreshAll, useApi, useBusy } from "../../shared/queries.ts";
import type { ListedWebhook, Page, Source, SourceConnection, Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { shell } from "../../shared/shell-text.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { ErrorNote, NotLoaded } from "../../shared/ui/error-note.tsx";
import { SelectField, TextField } from "../../shared/ui/field.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { SecretText } from "../../shared/ui/secret-text.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, LinkButton, mayManage } from "../form/action-button.tsx";
import { type FormProblem, problemText, typedOf } from "../form/form-fields.ts";
import { saveChanges } from "../form/resource-form.tsx";
import { LinkedFilters } from "../lists/filters.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { DetailPage, Trail, useRouteId } from "../shell/detail-page.tsx";
import { shortUrl, WebhookLink } from "../webhook/webhook-link.tsx";
import { connectionFields, ConnectionForm, FilterTrial } from "./connection-form.tsx";
import { ConnectionBadge, connectionColumns, heldCountText } from "./connection-table.tsx";
import { GatewayTabs, SourceLink } from "./parts.tsx";
import { DeleteButton } from "./source-actions.tsx";

const filterNames = ["source_id", "webhook_id", "tenant_id"] as const;

export function ConnectionsPage() {
  const { params } = useAddress();
  const query = Object.fromEntries(filterNames.map((name) => [name, params.get(name)]));
  return (
    <>
      <PageHead title="Connections">
        {mayManage() && <LinkButton href={pagePath("connections/new")} label="New connection" isPrimary />}
      </PageHead>
      <GatewayTabs />
      <div class="filters">
        <LinkedFilters names={filterNames} />
      </div>
      <ResourceList<SourceConnection>
        title="Connections"
        path="v1/connections"
        query={query}
        cli={shell`connections list`}
        columns={connectionColumns}
        none={
          <div class="teaching">
            <p>
              No connections yet. A <strong>connection</strong> forwards messages from a source to a webhook:
              all messages, or those that match a filter. A source can have several connections. Each can be
              paused separately.
            </p>
            <p class="soft">
              Without a connection, senders of a source are asked to retry later, or their messages are stored
              but not forwarded.
            </p>
          </div>
        }
      />
    </>
  );
}

export function ConnectionPage() {
  const id = useRouteId();
  const path = `v1/connections/${id}`;
  const loaded = useApi<SourceConnection>({ path });
  const { data, error } = loaded;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <DetailPage id={id} list="connections" title="Connections">
      <PageHead
        title={data.name === "" ? "Connection" : data.name}
        beside={<ConnectionBadge connection={data} />}
      />
      <Panel title="About this connection" loaded={loaded} twin={{ path, cli: shell`connections get ${id}` }}>
        <Facts
          rows={[
            ["From", <SourceLink id={data.source_id} />],
            ["To", <WebhookLink id={data.webhook_id} url={null} />],
            ["Paused", data.paused ? <When at={data.paused_at} /> : "no"],
            ["Held messages", heldCountText(data.held_count)],
            ["Required for pass-through success", data.required ? "yes" : "no"],
            ["Created", <When at={data.created_at} isExact />],
          ]}
        />
        {data.paused && (
          <p class="soft">
            Stored messages are held and sent in order after you resume. In pass-through, senders are asked to
            retry later.
          </p>
        )}
        {data.releasing_since !== null && (
          <p class="soft">
            The connection has been resumed. It sends held messages first, oldest first. New messages wait
            until these are sent.
          </p>
        )}
        {mayManage() && <ConnectionActions connection={data} />}
      </Panel>
      {mayManage() ? (
        <EditForm key={data.id} connection={data} />
      ) : (
        data.filter !== null && (
          <Panel title="Filter">
            <TextView text={JSON.stringify(data.filter)} label="Filter as JSON" />
            <SavedFilterTrial sourceId={data.source_id} filter={data.filter} />
          </Panel>
        )
      )}
    </DetailPage>
  );
}

function ConnectionActions({ connection: { id, paused } }: { readonly connection: SourceConnection }) {
  const path = `v1/connections/${id}`;
  const set = (isPaused: boolean) => () => callApi({ method: "PATCH", path, body: { paused: isPaused } });
  return (
    <div class="actions">
      {paused ? (
        <ActionButton
          label="Resume"
          isPrimary
          run={set(false)}
          done="Resumed. Held messages are being sent"
        />
      ) : (
        <ActionButton label="Pause" run={set(true)} done="Paused" />
      )}
      <DeleteButton
        what="connection"
        path={path}
        leadsTo="connections"
        consequence="New messages are no longer sent to this webhook. Existing deliveries are kept. Messages held while paused are not sent."
      />
    </div>
  );
}

/** Trial of the saved filter, for read-only API keys. */
function SavedFilterTrial({ sourceId, filter }: { readonly sourceId: string; readonly filter: object }) {
  const { error, run } = useBusy();
  return (
    <>
      <FilterTrial
        sourceId={sourceId}
        text={JSON.stringify(filter)}
        attempt={(look) => run(() => look(filter))}
      />
      {error.value !== null && <ErrorNote error={error.value} />}
    </>
  );
}

function EditForm({ connection }: { readonly connection: SourceConnection }) {
  const send = (body: object) =>
    saveChanges(body, { method: "PATCH", path: `v1/connections/${connection.id}`, body });
  const before = typedOf(connectionFields, connection);
  const { source_id: sourceId } = connection;
  return <ConnectionForm {...{ before, send, sourceId }} isNew={false} label="Save" />;
}

/**
 * An event type that is never published, so a webhook created for a connection receives only messages from its
 * connections.
 */
const relayedType = "relayed";
const newWebhook = "new";

/** Source and webhook selected for a new connection. */
interface Ends {
  readonly sourceId: Signal<string>;
  /** Id of the webhook. `newWebhook` means that a webhook is created for `url`. */
  readonly webhookId: Signal<string>;
  readonly url: Signal<string>;
}

export function NewConnectionPage() {
  const { params, go } = useAddress();
  const ends: Ends = {
    sourceId: useSignal(params.get("source_id") ?? ""),
    webhookId: useSignal(""),
    url: useSignal(""),
  };
  const { sourceId, webhookId } = ends;
  const made = useSignal<{ readonly webhook: Webhook; readonly isConnected: boolean } | null>(null);
  const send = async (rest: object) => {
    // Reuse the webhook if creating the connection failed in a previous attempt.
    if (webhookId.value === newWebhook)
      made.value = {
        webhook: await createWebhook(sourceId.value, ends.url.value.trim()),
        isConnected: false,
      };
    webhookId.value = made.value?.webhook.id ?? webhookId.value;
    const body = { ...rest, source_id: sourceId.value, webhook_id: webhookId.value };
    await callApi<SourceConnection>({ method: "POST", path: "v1/connections", body });
    announce("Connection created");
    await refreshAll();
    if ((made.value?.webhook.secret ?? null) === null) leave();
    else if (made.value !== null) made.value = { ...made.value, isConnected: true };
  };
  const leave = () => go(pagePath(`sources/${sourceId.value}`));
  return (
    <>
      <Trail href={pagePath("connections")}>Connections</Trail>
      <h1>New connection</h1>
      <ConnectionForm
        before={{ required: "true" }}
        isNew
        label="Create connection"
        sourceId={sourceId.value}
        send={send}
        lead={({ problems }) => <EndFields {...ends} problems={problems} />}
        problemsOfParts={() => problemsOf(ends)}
      />
      {made.value?.isConnected === true && (
        <Modal title="Connection created" onClose={leave}>
          <p>The receiver of the new webhook verifies messages with this secret.</p>
          <SecretText secret={made.value.webhook.secret ?? ""} />
          <button type="button" class="primary" onClick={leave}>
            Open source
          </button>
        </Modal>
      )}
    </>
  );
}

function problemsOf({ sourceId, webhookId, url }: Ends): readonly FormProblem[] {
  const missing = [
    sourceId.value === "" && "source_id",
    webhookId.value === "" && "webhook_id",
    webhookId.value === newWebhook && url.value.trim() === "" && "url",
  ];
  return missing.filter((field) => field !== false).map((field) => ({ field, message: "is required" }));
}

async function createWebhook(sourceId: string, url: string): Promise<Webhook> {
  const { value: source } = await callApi<Source>({ path: `v1/sources/${sourceId}` });
  const body = {
    url,
    events: [relayedType],
    description: `From ${source.name}`,
    ...(session.value?.tenant_id === null && { tenant_id: source.tenant_id }),
  };
  return (await callApi<Webhook>({ method: "POST", path: "v1/webhooks", body })).value;
}

function EndFields({
  sourceId,
  webhookId,
  url,
  problems,
}: Ends & { readonly problems: readonly FormProblem[] }) {
  const query = { limit: 250 };
  const sources = useApi<Page<Source>>({ path: "v1/sources", query }, { everyMs: false }).data?.data ?? [];
  const webhooks = useApi<Page<ListedWebhook>>({ path: "v1/webhooks", query }, { everyMs: false });
  const tenantId = sources.find(({ id }) => id === sourceId.value)?.tenant_id;
  const targets = (webhooks.data?.data ?? []).filter((one) => (tenantId ?? one.tenant_id) === one.tenant_id);
  return (
    <>
      <SelectField
        label="Source"
        value={sourceId}
        options={[["", "Select…"], ...sources.map(({ id, name }) => [id, name] as const)]}
        problem={problemText(problems, "source_id", "Source")}
      />
      <SelectField
        label="Webhook"
        value={webhookId}
        options={[
          ["", "Select…"],
          [newWebhook, "New webhook"],
          ...targets.map((one) => [one.id, shortUrl(one.url)] as const),
        ]}
        note="It receives all messages of its connections, regardless of its event types."
        problem={problemText(problems, "webhook_id", "Webhook")}
      />
      {webhookId.value === newWebhook && (
        <TextField
          label="URL of the new webhook"
          value={url}
          autocomplete="off"
          spellcheck={false}
          note="An https URL with a public address."
          problem={problemText(problems, "url", "URL of the new webhook")}
        />
      )}
    </>
  );
}
