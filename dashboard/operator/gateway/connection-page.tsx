import { useRoute } from "preact-iso";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { SourceConnection } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { ErrorNote, NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import { When } from "../../shared/ui/when.tsx";
import { saveChanges } from "../form/save-changes.ts";
import { ActionButton, mayManage } from "../action-button.tsx";
import { typedOf } from "../form/form-fields.ts";
import { useBusy } from "../use-busy.ts";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { connectionFields } from "./connection-fields.ts";
import { ConnectionForm } from "./connection-form.tsx";
import { ConnectionBadge, heldCountText } from "./connection-table.tsx";
import { FilterTrial } from "./filter-trial.tsx";
import { DeleteButton } from "./source-actions.tsx";
import { SourceLink } from "./source-link.tsx";

export { NewConnectionPage } from "./new-connection-page.tsx";

export function ConnectionPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const path = `v1/connections/${id}`;
  const loaded = useApi<SourceConnection>({ path });
  const { data, error } = loaded;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("connections")}>Connections</a>
      </p>
      <PageHead
        title={data.name === "" ? "Connection" : data.name}
        beside={<ConnectionBadge connection={data} />}
      />
      <Panel title="About this connection" loaded={loaded} twin={{ path, cli: shell`connections get ${id}` }}>
        <Facts
          rows={[
            ["From", <SourceLink key="from" id={data.source_id} />],
            ["To", <WebhookLink key="to" id={data.webhook_id} url={null} />],
            ["Paused", data.paused ? <When key="paused" at={data.paused_at} /> : "no"],
            ["Held messages", heldCountText(data.held_count)],
            ["Required for pass-through success", data.required ? "yes" : "no"],
            ["Created", <When key="made" at={data.created_at} isExact />],
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
            until then.
          </p>
        )}
        {mayManage() && <Actions connection={data} />}
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
    </div>
  );
}

function Actions({ connection: { id, paused } }: { readonly connection: SourceConnection }) {
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

/** Filter trial for read-only keys. */
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
